//! Host functions that device code calls, and kernels that the host launches, declared
//! once for both sides.
//!
//! A declaration lives in a `no_std` crate that the kernel and the host program both depend on, so
//! that they always agree:
//!
//! ```
//! use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};
//!
//! /// Statistics of a file.
//! #[derive(FromBytes, IntoBytes, Immutable)]
//! #[zerocopy(crate = "revoff_fn::zerocopy")]
//! #[repr(C)]
//! pub struct Stats {
//!     /// Bytes in all.
//!     pub bytes: u64,
//!     /// Lines in all.
//!     pub lines: u64,
//! }
//!
//! revoff_fn::host_functions! {
//!     /// Reads up to `buf.len()` bytes of `file` at `offset`; returns how many.
//!     pub fn read_chunk(file: u32, offset: u64, buf: Out<[u8]>) -> u32;
//!     /// Takes the digest of a file, adds to the statistics.
//!     pub fn report(file: u32, digest: &[u8; 32], stats: &mut Stats);
//! }
//!
//! // Device code calls `read_chunk(file, offset, &mut buf)?`. The host binds:
//! let functions: [Box<dyn revoff_fn::HostFunction>; 2] = [
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
//! A call orders only its own arguments: the function sees the values, and the current bytes of slices
//! and references, wherever they are, and the caller sees what the function has written to them. If the
//! function accesses other memory of the device, such as a buffer whose address it knows, the kernel
//! calls `revoff_device::thread::system_fence()` between its own writes to that memory and the call, and
//! between the call and its reads of what the function has written there.
//!
//! A [`kernel`](macro@kernel) is declared like a function, and launched by its name:
//!
//! ```
//! /// y[i] += a * x[i]
//! #[revoff_fn::kernel]
//! pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
//! assert_eq!(Saxpy::NAME, "saxpy");
//! ```
//!
//! | file | job |
//! |---|---|
//! | `plain`, `scalar` | types that can be passed |
//! | [`signature`] | the hash by which both sides compare declarations |
//! | `reply` | the encoding of a result |
//! | `entry`, `call`, `call_error` | the device side |
//! | `started`, `posts` | the device side of calls that do not block |
//! | `function`, `failure`, `args`, `bound` | the host side |
//! | `dynamic` | the host side of functions whose declaration is known only at run time |
//! | `bound_async` (feature `async`) | the host side of asynchronous functions |
//! | `kernel`, `argument` | the other direction: kernels that the host launches |
//!
//! This crate allocates nothing, since it is part of device images, which have no allocator. Only the
//! feature `async`, for hosts, does.

#![no_std]

#[cfg(feature = "async")]
extern crate alloc;

mod args;
mod argument;
mod bound;
#[cfg(feature = "async")]
mod bound_async;
mod call;
mod call_error;
mod dynamic;
mod entry;
mod failure;
mod function;
mod kernel;
mod plain;
mod posts;
mod reply;
mod scalar;
pub mod signature;
mod started;

pub use argument::{Argument, Memory, Passed, Value};
pub use bound::{Adapter, Bound};
#[cfg(feature = "async")]
pub use bound_async::{AsyncAdapter, AsyncHostFunction, BoundAsync, BoxFuture, FunctionFailed};
pub use call_error::CallError;
pub use dynamic::{DynamicArg, DynamicArgs, DynamicReply};
pub use failure::{BadArguments, Failure};
pub use function::{HostFunction, RawArg};
pub use kernel::{Kernel, Launcher, Parameters};
pub use plain::Plain;
pub use posts::Posts;
pub use revoff_macros::{host_functions, kernel_declaration as kernel};
pub use scalar::Scalar;
pub use started::Started;
pub use zerocopy;

/// Names that are used by `host-rt` and by code that `host_functions!` and `kernel` generate. Not part of
/// the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::args::{Args, ReplyTo};
    pub use crate::argument::Argument;
    pub use crate::bound::bind;
    #[cfg(feature = "async")]
    pub use crate::bound_async::{bind_async, finish, reply_bytes};
    pub use crate::call::call;
    pub use crate::entry::Entry;
    pub use crate::kernel::{Parameters, same};
    pub use crate::posts::post;
    pub use crate::reply::Reply;
    pub use crate::started::start;
    #[cfg(feature = "async")]
    pub use alloc::boxed::Box;
    pub use shared_abi::image::{FunctionInfo, KernelInfo};
}

/// Expands to its argument if this crate has the feature `async`: generated code cannot ask for the
/// features of another crate.
#[cfg(feature = "async")]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_async {
    ($($item:item)*) => { $($item)* };
}

/// See above.
#[cfg(not(feature = "async"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_async {
    ($($item:item)*) => {};
}
