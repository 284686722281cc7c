//! device-rt's `GOMP_target_ext` for images that GCC linked, put into them when they are
//! loaded.
//!
//! The function that comes with GCC speaks GCC's wires: one request at a time, or the ring
//! of the parallel patch. With [`swap`] before the texts of an image go to the driver's
//! linker, the image has device-rt's in its place, and the host may give it any wire; it
//! then has what a host looks for in an image of device-rt (`__revoff_image`,
//! `__revoff_runtime`). [`targets::gcc`] says what is cut out of what.
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
//! All is refused that is not known to be right; the texts then are as they were.
//!
//! - *Other releases of GCC.* libgomp's function has had one signature since GCC 13, and
//!   the parallel patch keeps it: the text is searched for that, not for a version. Another
//!   signature is refused. What the function does inside (a slot, a ring) goes with it, and
//!   with it the one variable that a plugin tells it, which nothing else may use.
//! - *GCC 12* has a function that does nothing, and no control variables: there the piece
//!   finds no `__gomp_additional_icvs`, and the image is left alone.
//! - *Images without the function* call nothing on the host. They are left alone, which
//!   says [`NotSwapped::NoTargetExt`].
//! - *Images built with device-rt* (docs/gcc.md says how) have `__revoff_runtime`, and are
//!   as they should be: [`Swapped::Before`]. Of which version, the host reads in the image.
//! - *A name that both define* is refused, be it a user's function.
//! - *Warps.* GCC's code runs in all lanes of a warp as one thread, or in `simd` loops in
//!   each lane as a thread; the piece asks `__nvptx_uni`, as GCC's own function does.

pub use targets::gcc::{NotCut, NotSwapped, Swapped};

/// The piece for GPUs without ordered loads and stores of system scope, and for others.
const PIECES: [(u32, &str); 2] = [
    (70, include_str!(env!("REVOFF_GCC_PIECE_SM_70"))),
    (35, include_str!(env!("REVOFF_GCC_PIECE_SM_35"))),
];

/// The piece for a GPU of `sm`, such as 90, as PTX.
///
/// None for one below 35, whose images have no reverse offload, and on builds without a
/// Rust toolchain for GPUs.
#[must_use]
pub fn piece(sm: u32) -> Option<&'static str> {
    let (_, text) = PIECES.iter().find(|(from, _)| sm >= *from)?;
    (!text.is_empty()).then_some(text)
}

/// Puts the piece in the place of libgomp's `GOMP_target_ext` in `texts`, which are all
/// that an image is linked from, for a GPU of `sm`.
///
/// # Errors
/// Why the image keeps what it has; `texts` is as it was. That is no fault of the image.
pub fn swap(texts: &mut Vec<String>, sm: u32) -> Result<Swapped, NotSwapped> {
    targets::gcc::swap(texts, piece(sm))
}
