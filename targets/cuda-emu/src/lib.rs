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
//! | module | functions |
//! |---|---|
//! | [`functions`], `export` | all of them by name |
//! | `driver`, `gpu`, `environment`, `settings` | the state of the process, its GPUs, `cuInit` |
//! | `device` | properties of devices |
//! | `context`, `primary`, `current` | contexts |
//! | `memory`, `pool`, `pointer`, `copy` | memory and copies |
//! | `stream`, `progress`, `engine`, `callback`, `event` | what happens when |
//! | `module`, `library`, `image`, `link`, `jit` | loading code |
//! | `function`, `launch` | kernels |
//! | `code`, `faults`, `pointers` | results, injected failures, and arguments of functions |

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

pub mod callback;
pub mod code;
mod context;
pub mod copy;
pub mod current;
pub mod device;
pub mod driver;
mod engine;
mod environment;
pub mod event;
pub mod export;
mod faults;
pub mod function;
pub mod functions;
mod gpu;
mod image;
mod jit;
pub mod launch;
pub mod library;
pub mod link;
pub mod memory;
pub mod module;
pub mod pointer;
pub mod pointers;
pub mod pool;
pub mod primary;
mod progress;
mod settings;
pub mod stream;

pub use self::driver::{Counts, add_gpu, counts, fault_of, in_place, remove_gpu};
pub use self::gpu::{GpuOptions, Report};
pub use self::image::with_image_name;
pub use self::stream::{LEGACY, PER_THREAD};
pub use ptx_emu::{Fault, FaultKind, Options, Trace};
