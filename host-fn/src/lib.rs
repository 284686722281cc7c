//! Host functions that device code calls, and kernels that the host launches, declared
//! once for both sides.
//!
//! A declaration lives in a `no_std` crate that the kernel and the host program
//! both depend on, so that neither can go its own way:
//!
//! ```
//! use host_fn::zerocopy::{FromBytes, Immutable, IntoBytes};
//!
//! /// What a file is like.
//! #[derive(FromBytes, IntoBytes, Immutable)]
//! #[zerocopy(crate = "host_fn::zerocopy")]
//! #[repr(C)]
//! pub struct Stats {
//!     /// Bytes in all.
//!     pub bytes: u64,
//!     /// Lines in all.
//!     pub lines: u64,
//! }
//!
//! host_fn::host_functions! {
//!     /// Reads up to `buf.len()` bytes of `file` at `offset`; returns how many.
//!     pub fn read_chunk(file: u32, offset: u64, buf: Out<[u8]>) -> u32;
//!     /// Takes the digest of a file, adds to the statistics.
//!     pub fn report(file: u32, digest: &[u8; 32], stats: &mut Stats);
//! }
//!
//! // Device code calls `read_chunk(file, offset, &mut buf)?`. The host binds:
//! let functions: [Box<dyn host_fn::HostFunction>; 2] = [
//!     Box::new(ReadChunk::bind(|_file, _offset, buf| {
//!         buf.fill(1);
//!         buf.len() as u32
//!     })),
//!     Box::new(Report::try_bind(|file, _digest, stats| {
//!         stats.lines += 1;
//!         if file == 0 { Ok(()) } else { Err("no such file") }
//!     })),
//! ];
//! assert_eq!(functions[0].name(), "read_chunk");
//! ```
//!
//! A [`kernel`](macro@kernel) is declared beside them, and launched by its name:
//!
//! ```
//! /// y[i] += a * x[i]
//! #[host_fn::kernel]
//! pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
//! assert_eq!(Saxpy::NAME, "saxpy");
//! ```
//!
//! | file | job |
//! |---|---|
//! | `plain`, `scalar` | which types can travel |
//! | [`signature`] | the hash by which both sides compare declarations |
//! | `reply` | how a result travels back |
//! | `entry`, `call`, `call_error` | the device side |
//! | `function`, `failure`, `args`, `bound` | the host side |
//! | `kernel`, `argument` | the other direction: kernels that the host launches |
//!
//! No allocation anywhere: a device image has no allocator, and this crate is
//! part of it.

#![no_std]

mod args;
mod argument;
mod bound;
mod call;
mod call_error;
mod entry;
mod failure;
mod function;
mod kernel;
mod plain;
mod reply;
mod scalar;
pub mod signature;

pub use argument::{Argument, Memory, Travels, Value};
pub use bound::{Adapter, Bound};
pub use call_error::CallError;
pub use failure::{BadArguments, Failure};
pub use function::{HostFunction, RawArg};
pub use kernel::{Kernel, Launcher};
pub use plain::Plain;
pub use revoff_macros::{host_functions, kernel_declaration as kernel};
pub use scalar::Scalar;
pub use zerocopy;

/// What the code that `host_functions!` and `kernel` generate refers to. No part of the
/// public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::args::{Args, ReplyTo};
    pub use crate::argument::Argument;
    pub use crate::bound::bind;
    pub use crate::call::call;
    pub use crate::entry::Entry;
    pub use crate::kernel::{Parameters, same};
    pub use crate::reply::Reply;
    pub use shared_abi::image::{FunctionInfo, KernelInfo};
}
