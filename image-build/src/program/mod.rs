//! Programs with Rust's `std`.
//!
//! The standard library is built once for each architecture, from a copy of the toolchain's source
//! with the platform layer in `device-std/overlay` laid over it. A sysroot holds the result, and the
//! crate `device-std` with it. An ordinary `cargo rustc` with this sysroot then builds any program.
//!
//! | module | job |
//! |---|---|
//! | `build` | builds a program |
//! | `sysroot` | builds the standard library, and keeps it |
//! | `overlay` | lays the platform layer over the source |
//! | `stack` | moves the stacks of threads to global memory |
//! | `target` | the target specification, derived from the compiler's own |

mod atomics;
mod build;
mod overlay;
mod stack;
mod sysroot;
mod target;

pub use build::{Program, build};
pub use sysroot::CACHE;
pub use target::StdTarget;
