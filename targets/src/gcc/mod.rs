//! Images that GCC links for NVIDIA, and making room in them for device-rt.
//!
//! Such an image is several PTX texts: the program's own, and what of GCC's libraries it
//! needs. One of libgomp's has `GOMP_target_ext`, the function that a reverse-offload call
//! starts with, beside others that programs need: it cannot be left out for ours, so that
//! one function is cut out of it.

mod cut;
mod swap;
mod wire;

pub use cut::{NotCut, without_target_ext};
pub use swap::{NotSwapped, Swapped, swap};
pub use wire::wire;

/// The function that device code calls for `target device(ancestor:1)`.
pub const TARGET_EXT: &str = "GOMP_target_ext";
