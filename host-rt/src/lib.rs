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
//! A kernel that is declared with [`host_fn::kernel`](macro@host_fn::kernel) is launched
//! with the host's own data, which is copied there and back:
//!
//! ```no_run
//! # use host_rt::{Functions, Grid, Image, Runtime};
//! /// y[i] += a * x[i]
//! #[host_fn::kernel]
//! pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = Runtime::open("host")?;
//! # let program = runtime.load(&Image::open("libsaxpy.so")?, &Functions::new())?;
//! let saxpy = program.bind::<Saxpy>()?;
//! let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
//! let grid = Grid { teams: 4, threads: 64 };
//! saxpy.launch(grid, 1.5, &x, &mut y)?;
//!
//! let x = runtime.map_to(&x)?; // stays on the device
//! let mut y = runtime.map_tofrom(&mut y)?;
//! for step in 0..10 {
//!     saxpy.launch(grid, step as f32, &x, &mut y)?; // copies nothing
//! }
//! y.finish()?;
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
//! | `output` | what device code prints |
//! | `serve` | the threads that serve calls |
//! | [`task`] | tasks on devices and host that depend on each other |
//! | [`env`](mod@env) | environment variables |
//! | [`error`] | what can go wrong |

// `device::host::words` has a call for each number of words up to 127.
#![recursion_limit = "256"]

pub mod data;
pub mod device;
pub mod env;
pub mod error;
mod functions;
pub mod image;
mod lock;
pub mod map;
mod output;
mod runtime;
mod serve;
mod sleep;
pub mod task;
pub mod wire;

pub use device::Grid;
pub use error::{CallError, Error, LaunchError, Result};
pub use functions::{ForeignFunction, Functions, RawFunction, RequestMemory};
pub use image::Image;
pub use runtime::{
    Builder, Cost, DeviceBuffer, Kernel, KernelArg, Launch, Program, Report, Runtime, TypedKernel,
    wire_by_name,
};
pub use serve::{CallContext, LaunchQueue, Waiting, current_call};
pub use shared_abi;
pub use targets;
pub use wire::Reservation;
