//! Programs with Rust's `std`.
//!
//! The standard library is built once for each architecture, from a copy of the toolchain's source
//! with the platform layer in `device-std/overlay` laid over it. A sysroot holds the result, and the
//! crate `device-std` with it. An ordinary `cargo rustc` with this sysroot then builds any program.
//!
//! | module | job |
//! |---|---|
//! | `build` | builds a program, or the tests of a package |
//! | `package` | the programs and tests of a package |
//! | `source` | a package and its features |
//! | `sysroot` | builds the standard library, and keeps it |
//! | `atomics` | completes `core`'s atomics for NVIDIA GPUs |
//! | `overlay` | lays the platform layer over the source |
//! | `stack` | moves the stacks of threads to global memory |
//! | `target` | the target specification, derived from the compiler's own |

mod atomics;
mod build;
mod math;
mod overlay;
mod package;
mod source;
mod stack;
mod sysroot;
mod target;

pub use build::{Program, build, build_tests};
pub use package::TestSelection;
pub use source::Source;
pub use sysroot::CACHE;
pub(crate) use sysroot::cache;
pub use target::StdTarget;
