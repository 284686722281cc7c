extern crate self as device_rt;
pub use shared_abi;
use revoff_macros::kernel;

#[kernel(fast, inline)]
pub fn k(a: u32) {}

fn main() {}
