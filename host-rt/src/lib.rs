//! The host side of reverse offload: loads device images, launches their kernels,
//! and runs the host functions that the kernels call.
//!
//! ```no_run
//! use revoff_host::{Functions, Grid, Image, Runtime};
//!
//! revoff_fn::host_functions! {
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
//! A kernel that is declared with [`revoff_fn::kernel`](macro@revoff_fn::kernel) is launched with host
//! data, which is copied both ways:
//!
//! ```no_run
//! # use revoff_host::{Functions, Grid, Image, Runtime};
//! /// y[i] += a * x[i]
//! #[revoff_fn::kernel]
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
//! | [`task`] | tasks on devices and host that depend on each other |
//! | `services` | the services behind `std` on a device |
//! | `runtime` | loading, launching, and mapped data |
//! | `serve` | the threads that serve calls |
//! | [`map`] | mapping the arguments of a call |
//! | `wire` | the consumer of each wire |
//! | [`device`] | devices: the traits and the kinds |
//! | [`image`] | reading device images |
//! | `base` | utilities: [environment variables](mod@env), [ranges of addresses](ranges) |
//!
//! Modules import only from modules below their own row.
//!
//! | error | failure |
//! |---|---|
//! | [`EnvError`](env::EnvError) | an environment variable has an invalid value |
//! | [`TelemetryError`](telemetry::TelemetryError) | the file or socket for [`telemetry`] cannot be created |
//! | [`ImageError`](image::ImageError) | a file is not a usable image |
//! | [`DeviceError`](device::DeviceError) | an operation of a device failed |
//! | [`LaunchError`], [`CallError`] | a kernel, or a call that it made, failed |
//! | [`RuntimeError`] | one of these, or a wrong use of a runtime |
//! | [`ServicesError`] | a setting of [`Services`] is invalid, or a program cannot be launched |
//! | [`TaskError`](task::TaskError) | a task failed |
//! | [`Error`] | any of them |
//!
//! The message of an error omits its sources. [`Chain`] displays all of them.
//!
//! Threads may share a runtime, its programs and kernels. A panic in foreign code leaves no lock poisoned. Dropping
//! a [`Launch`] waits for its kernel, like [`Launch::wait`], and logs an error.

// `device::in_process::host::c_call` has a call for each number of words up to 127.
#![recursion_limit = "256"]

mod base;
pub mod device;
pub mod image;
pub mod map;
mod runtime;
mod serve;
mod services;
pub mod task;
mod wire;

/// The wires' protocol code, for models and tests.
#[doc(hidden)]
pub mod model {
    pub use crate::wire::{Poll, gcc, gcc_ring, gcc_slot, gcn_queue, native, panic, wake};
}

pub use base::{Chain, env, ranges};
pub use bus_cost;
pub use device::{Grid, Params};
pub use image::Image;
pub use revoff_telemetry as telemetry;
pub use runtime::{
    AbortHandle, Builder, DeviceBuffer, Functions, Kernel, KernelArg, Launch, Mapped, MappedMut,
    Program, Report, Runtime, RuntimeError, Transfers, TypedKernel,
};
pub use serve::{
    CallContext, CallError, Cost, DeviceCall, DeviceFunction, DeviceFuture, DeviceReply,
    ForeignError, ForeignFunction, LaunchError, LaunchWire, RawFunction, RequestMemory, Spawn,
    StagingBuffer, Waiting, current_call,
};
pub use services::{HeapRefusal, HeapUse, ProgramLimits, Services, ServicesBuilder, ServicesError};
pub use shared_abi;
pub use std_calls;
pub use targets;
pub use task::error::{Error, Result};
pub use wire::{ArgsError, NoSuchWire, ProtocolError, Reservation, wire_by_name};
