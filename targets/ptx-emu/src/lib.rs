//! Runs PTX on the CPU: the shipped text, as NVIDIA's driver would load it.
//!
//! A [`Machine`] is a device. It has [`Memory`] of its own, which contains no host pointer's
//! target, loads [`Module`]s from one or more texts that it links, and launches kernels. Each
//! block runs on an OS thread, a warp of 32 lanes at a time, concurrently with the host. The
//! machine is stricter than hardware: an access to unallocated or foreign memory, an unknown
//! instruction or modifier, and lanes that wait for each other forever are errors with the line of
//! the text.
//!
//! It does not model caches, timing or weak memory. But [`Options::check`] makes it report races.
//!
//! Source of the instructions' behaviour, unless a file names another: NVIDIA's "Parallel Thread
//! Execution ISA".
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `machine` | a device: launches on its multiprocessors |
//! | `run` | running blocks, warps and instructions |
//! | `check` | the race checker |
//! | `module` | loading and linking texts |
//! | `code` | decoded functions |
//! | `memory` | address spaces and global memory |
//! | `error` | errors and faults |
//! | `spec` | limits of a device |
//! | `alu` | arithmetic of lanes |
//! | `text` | parsing PTX |

mod alu;
mod check;
mod code;
mod error;
mod machine;
mod memory;
mod module;
mod run;
mod spec;
mod text;

pub use self::error::{
    Fault, FaultKind, LaunchError, LoadError, MbarrierError, SourceLocation, TextError,
};
pub use self::machine::{Grid, Machine, Options, Prepared, Running};
pub use self::memory::Memory;
pub use self::module::{Global, Kernel, Module, Part, check};
pub use self::run::{OnEnd, Trace};
pub use self::spec::{MAX_BLOCKS, MAX_SHARED, MAX_THREADS, Model};
