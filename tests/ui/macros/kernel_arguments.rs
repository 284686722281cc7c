extern crate self as revoff_device;
pub use shared_abi;
use revoff_macros::kernel;

#[kernel(fast, inline)]
pub fn k(a: u32) {}

fn main() {}
