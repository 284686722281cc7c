//! Reverse offload for GPUs: code that runs on a device calls functions on the host and waits for their results.
//!
//! This is the library of programs that launch kernels: all of [`revoff_host`] and, behind features, what such
//! programs often use with it. Kernels and build scripts have crates of their own:
//!
//! | crate | used by |
//! |---|---|
//! | `revoff` | the program: devices, launches, and the host functions that kernels may call |
//! | `revoff-fn` | the crate that declares host functions and kernels, once for both sides |
//! | `revoff-device` | the crate of the kernels |
//! | `revoff-build` | the build script, which compiles the kernels for devices |
//!
//! The command `revoff` is the package `revoff-cli`; `revoff new --kernel` creates a program with these crates.

pub use revoff_host::*;
#[cfg(feature = "isolate")]
pub use revoff_isolate as isolate;
#[cfg(feature = "log")]
pub use revoff_log as log;
#[cfg(feature = "mpi")]
pub use revoff_mpi as mpi;
