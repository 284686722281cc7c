//! MPI for kernels: the host functions of `mpi-calls`, which call the machine's MPI.
//!
#![cfg_attr(feature = "library", doc = "```no_run")]
#![cfg_attr(not(feature = "library"), doc = "```ignore")]
//! use revoff_host::{Functions, Grid, Image, Runtime};
//! use revoff_mpi::Mpi;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mpi = Mpi::start()?;
//! let mut functions = Functions::new();
//! mpi.add_to(&mut functions)?;
//! let runtime = Runtime::open("host")?;
//! let program = runtime.load(&Image::open("kernel.offload")?, &functions)?;
//! // SAFETY: the kernel takes no parameters.
//! unsafe { program.kernel("exchange")?.launch(Grid { teams: 1, threads: 1 }, &[])? }.wait()?;
//! mpi.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! A call that waits for other ranks keeps no thread of the host: it is polled until MPI has finished it. If MPI may
//! be called by all threads (`MPI_THREAD_MULTIPLE`), a call begins on the thread that serves it, and moves to
//! a thread of this crate only if it has to wait longer than a moment. Otherwise, or after `Mpi::start_on_one_thread`,
//! that one thread makes all calls of MPI.
//!
//! If a rank ends without `Mpi::finish`, for instance with an error of its launch, `mpirun` ends the others.
//! The launch of a kernel that waits for a message which never comes ends at its deadline, if it has one.
//!
//! | file | job |
//! |---|---|
//! | `session` | starts and ends MPI |
//! | `progress` | polls calls that wait |
//! | `functions` | the host functions |
//! | `on_device`, `gpu_memory` | their calls with messages in device memory, which MPI accesses itself |
//! | `matching` | which receive gets which message |
//! | `receives`, `discard` | receives and their messages; messages that nobody gets |
//! | `drain` | ends all communications before MPI ends |
//! | `collective`, `ticket_queue` | collective functions, one after the other |
//! | `open_requests` | requests that kernels will wait for |
//! | `communicator` | begins communications |
//! | `request`, `run_to_end` | a communication until its end, also of a call that was given up |
//! | `element` | MPI's handles of datatypes and operations |
//! | `error`, `communication` | errors, and the operations that fail |
#![cfg(feature = "library")]

mod collective;
mod communication;
mod communicator;
mod discard;
mod drain;
mod element;
mod error;
mod functions;
mod gpu_memory;
mod matching;
mod on_device;
mod open_requests;
mod progress;
mod receives;
mod request;
mod run_to_end;
mod session;
mod ticket_queue;

pub use mpi_calls as calls;

pub use self::communication::Communication;
pub use self::error::MpiError;
pub use self::session::Mpi;
