extern crate self as revoff_device;
pub use shared_abi;
use revoff_macros::kernel;

#[kernel]
pub fn reference(a: &u32) {}

#[kernel]
pub fn slice(a: *mut [u8]) {}

#[kernel]
pub fn text(a: *const str) {}

#[kernel]
pub fn object(a: *const dyn Fn()) {}

#[kernel]
pub fn structure(a: Option<u32>) {}

#[kernel]
pub fn boolean(a: bool) {}

#[kernel]
pub fn pattern((a, b): (u32, u32)) {}

#[kernel]
pub fn mutable(mut a: u32) {}

#[kernel]
pub fn unnamed(_: u32) {}

#[kernel]
pub fn receiver(self) {}

fn main() {}
