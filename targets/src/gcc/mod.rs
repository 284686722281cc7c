//! Images that GCC links for NVIDIA, and replacing a function in them by device-rt's.
//!
//! Such an image consists of several PTX texts: the program's own, and the needed ones of GCC's
//! libraries. One of libgomp's defines `GOMP_target_ext`, the function that a reverse-offload call
//! starts with, beside others that programs need. It cannot be left out, so that one function is
//! removed from it.

mod alone;
#[cfg(feature = "libgomp-archive")]
pub mod archive;
mod cut;
mod swap;
mod wire;

pub use alone::target_ext_alone;
pub use cut::{NotCut, without_target_ext};
pub use swap::{NotSwapped, Swapped, swap};
pub use wire::wire;

/// The function that device code calls for `target device(ancestor:1)`.
pub const TARGET_EXT: &str = "GOMP_target_ext";
