//! CUDA's driver API on NVIDIA GPUs that `ptx-emu` emulates, for programs in this process. The crate
//! `libcuda` in this folder makes it NVIDIA's library `libcuda.so.1`.
//!
//! It is stricter than the driver where that helps to find faults: handles are numbers that are looked up
//! and never reused, a copy happens when its stream gets to it and not before, memory is not zeroed,
//! resources that a context still holds when it is destroyed count as leaked, and any function can be made
//! to fail.
//!
//! Source of the functions' behaviour, unless a file names another: NVIDIA's "CUDA Driver API".
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | [`functions`] | the table of all functions |
//! | [`api`] | the functions |
//! | `environment` | GPUs for programs that add none |
//! | [`driver`] | the state of the process: GPUs, contexts, and which one is current |
//! | `state` | contexts, and what they own |
//! | `image`, `jit` | the PTX in images; the log of compiler and linker |
//! | `code`, `pointers`, `settings`, `faults` | results, arguments, settings, injected failures |

#![allow(missing_docs, reason = "NVIDIA documents its functions")]
#![allow(non_snake_case, reason = "NVIDIA's names")]
#![allow(
    clippy::too_many_arguments,
    reason = "as many as NVIDIA's functions have"
)]
#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "only C calls these functions, by their addresses"
)]

pub mod api;
mod code;
pub mod driver;
mod environment;
mod faults;
pub mod functions;
mod image;
mod jit;
pub mod pointers;
mod settings;
mod state;

pub use self::driver::{Counts, add_gpu, counts, fault_of, in_place, lose_gpu, remove_gpu};
pub use self::image::with_image_name;
pub use self::state::gpu::{GpuOptions, Report};
pub use self::state::stream::{LEGACY, PER_THREAD};
pub use ptx_emu::{Fault, FaultKind, Options, Trace};
