//! Runs PTX on the CPU: the very text that ships, as NVIDIA's driver would load it.
//!
//! A [`Machine`] is a device: it has [`Memory`] of its own, which no host pointer is in,
//! loads [`Module`]s from one text or several that it links, and launches kernels, of
//! which each block runs on an OS thread, a warp of 32 lanes at a time, concurrently with
//! the host. It is made to be stricter than hardware: an access to what is not there, or
//! not for the thread, an instruction or modifier that is not known, lanes that wait for
//! each other for ever are errors that name the line of the text.
//!
//! What it does not show: caches, timing, and weak memory; but [`Options::check`] has it
//! report accesses that nothing orders, and [`litmus`] says what weak memory may do.
//!
//! Source of what instructions do, unless a file names another: NVIDIA's "Parallel Thread
//! Execution ISA".

mod alu;
mod check;
mod code;
mod error;
pub mod litmus;
mod machine;
mod memory;
mod module;
mod run;
mod spec;
mod text;

pub use self::code::op::{Scope, Semantics};
pub use self::error::{Fault, FaultKind, LaunchError, LoadError, Place};
pub use self::machine::{Grid, Machine, Options, Prepared, Running};
pub use self::memory::Memory;
pub use self::module::{Global, Kernel, Module, Part};
pub use self::run::{Ended, Trace};
pub use self::spec::Model;
