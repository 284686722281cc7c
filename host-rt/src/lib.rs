//! The host side of reverse offload: loads device images, launches their kernels,
//! and runs the host functions that the kernels call.
//!
//! ```no_run
//! use host_rt::{Functions, Grid, Image, Runtime};
//!
//! host_fn::host_functions! {
//!     /// Prints a number.
//!     pub fn say(n: u32);
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut functions = Functions::new();
//! functions.add(Say::bind(|n| println!("a device thread says {n}")))?;
//!
//! let runtime = Runtime::open("host")?;
//! let program = runtime.load(&Image::open("libhello.so")?, &functions)?;
//! let kernel = program.kernel("hello")?;
//! // SAFETY: `hello` takes one `u32` and touches no memory of ours.
//! let launch = unsafe { kernel.launch(Grid { teams: 4, threads: 2 }, &[&7u32])? };
//! launch.wait()?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | job |
//! |---|---|
//! | [`data`] | host data that has a copy on the device |
//! | [`device`] | where kernels run: the trait and its kinds |
//! | [`image`] | reading device images |
//! | [`map`] | mapping the arguments of a call |
//! | [`wire`] | the consumer of each wire |
//! | `serve` | the threads that serve calls |
//! | [`env`](mod@env) | environment variables |
//! | [`error`] | what can go wrong |

pub mod data;
pub mod device;
pub mod env;
pub mod error;
mod functions;
pub mod image;
pub mod map;
mod runtime;
mod serve;
mod sleep;
pub mod wire;

pub use device::Grid;
pub use error::{CallError, Error, LaunchError, Result};
pub use functions::{ForeignFunction, Functions, RawFunction, RequestMemory};
pub use image::Image;
pub use runtime::{
    Builder, Cost, DeviceBuffer, Kernel, KernelArg, Launch, Program, Report, Runtime, TypedKernel,
    wire_by_name,
};
pub use serve::{CallContext, Waiting, current_call};
pub use shared_abi;
pub use targets;
