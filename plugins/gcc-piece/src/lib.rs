//! device-rt's `GOMP_target_ext` for images that GCC linked, inserted when they are loaded.
//!
//! GCC's own function uses GCC's wires: one request at a time, or the ring of the parallel patch.
//! [`swap`], called before the texts of an image go to the driver's linker, replaces it by
//! device-rt's, and the host may then choose any wire. The image then has the symbols of an image
//! of device-rt (`__revoff_image`, `__revoff_runtime`). [`targets::gcc`] documents which parts are
//! removed.
//!
//! ```no_run
//! # let mut texts: Vec<String> = vec![];
//! use gcc_piece::{NotSwapped, Swapped, swap};
//!
//! match swap(&mut texts, 90) {
//!     Ok(Swapped::Now | Swapped::Before) => { /* any wire */ }
//!     Err(why) => { /* GCC's wires; `why` is for who wants to know */ }
//! }
//! ```
//!
//! # What makes it sound
//!
//! An image that is not known to be suitable is rejected; its texts are then unchanged.
//!
//! - *Other releases of GCC.* libgomp's function has had one signature since GCC 13, and
//!   the parallel patch keeps it: the text is searched for that, not for a version. Other
//!   signatures are rejected. The function's inner state (a slot, a ring) is removed with it, and
//!   so is the one variable that a plugin writes for it, which nothing else may use.
//! - *GCC 12* has a function that does nothing, and no control variables: the piece then
//!   finds no `__gomp_additional_icvs`, and the image is unchanged.
//! - *Images without the function* call nothing on the host. They are unchanged, with the
//!   result [`NotSwapped::NoTargetExt`].
//! - *Images built with device-rt* (see docs/gcc.md) have `__revoff_runtime`, and are
//!   complete: [`Swapped::Before`]. The host reads their version in the image.
//! - *A name that both define*, such as a user's function, is rejected.
//! - *Warps.* GCC's code runs in all lanes of a warp as one thread, or in `simd` loops in
//!   each lane as a thread; the piece reads `__nvptx_uni`, like GCC's own function.

pub use targets::gcc::{NotCut, NotSwapped, Swapped};

/// The piece for GPUs without ordered loads and stores of system scope, and for others.
const PIECES: [(u32, &str); 2] = [
    (70, include_str!(env!("REVOFF_GCC_PIECE_SM_70"))),
    (35, include_str!(env!("REVOFF_GCC_PIECE_SM_35"))),
];

/// The piece for a GPU of `sm`, such as 90, as PTX.
///
/// `None` below 35, whose images have no reverse offload, and in builds without a Rust toolchain
/// for GPUs.
#[must_use]
pub fn piece(sm: u32) -> Option<&'static str> {
    let (_, text) = PIECES.iter().find(|(from, _)| sm >= *from)?;
    (!text.is_empty()).then_some(text)
}

/// Replaces libgomp's `GOMP_target_ext` in `texts`, which are all texts of an image, by the piece,
/// for a GPU of `sm`.
///
/// # Errors
/// The reason why the image keeps its own function; `texts` is unchanged. The image is not at
/// fault.
pub fn swap(texts: &mut Vec<String>, sm: u32) -> Result<Swapped, NotSwapped> {
    targets::gcc::swap(texts, piece(sm))
}
