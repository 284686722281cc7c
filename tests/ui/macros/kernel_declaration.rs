extern crate self as revoff_device;
pub use shared_abi;
use revoff_macros::kernel;

#[kernel]
pub fn generic<T>(a: *mut T) {}

#[kernel]
pub fn clause(a: u32) where u32: Copy {}

#[kernel]
pub fn returns(a: u32) -> u32 { a }

#[kernel]
pub async fn asynchronous(a: u32) {}

#[kernel]
pub const fn constant(a: u32) {}

#[kernel]
pub extern "C" fn convention(a: u32) {}

#[kernel]
pub fn größe(a: u32) {}

#[kernel]
pub struct NoFunction;

fn main() {}
