extern crate self as revoff_device;
pub use shared_abi;
use revoff_macros::kernel;

use host_fn_test_calls::Saxpy;

#[kernel(Saxpy)]
pub fn saxpy(_a: f64, _x: &[f32], _y: *mut [f32]) {}

mod too_few {
    #[revoff_macros::kernel(super::Saxpy)]
    pub fn saxpy(_a: f32, _x: &[f32]) {}
}

mod too_many {
    #[revoff_macros::kernel(super::Saxpy)]
    pub fn saxpy(_a: f32, _x: &[f32], _y: *mut [f32], _n: usize) {}
}

mod thin {
    #[revoff_macros::kernel(super::Saxpy)]
    pub fn saxpy(_a: f32, _x: &[f32], _y: *mut f32) {}
}

mod exclusive {
    #[revoff_macros::kernel(super::Saxpy)]
    pub fn saxpy(_a: f32, _x: &[f32], _y: &mut [f32]) {}
}

mod other_name {
    #[revoff_macros::kernel(super::Saxpy)]
    pub fn axpy(_a: f32, _x: &[f32], _y: *mut [f32]) {}
}

mod unsafe_alone {
    #[revoff_macros::kernel(super::Saxpy)]
    pub unsafe fn saxpy(_a: f32, _x: &[f32], _y: *mut [f32]) {}
}

mod safe_alone {
    #[revoff_macros::kernel(host_fn_test_calls::Touch)]
    pub fn touch(_address: u64) {}
}

mod returns {
    #[revoff_macros::kernel(host_fn_test_calls::Loop)]
    pub fn r#loop() -> u32 {}
}

mod nothing_of_that_name {
    #[revoff_macros::kernel(super::Missing)]
    pub fn missing() {}
}

mod no_declaration {
    #[revoff_macros::kernel(u32)]
    pub fn number() {}
}

fn main() {}
