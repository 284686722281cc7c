//! The mode of floats: rounding, and subnormal numbers that are taken for zero.

use crate::fault::FaultKind;

/// The mode without any denormal that is flushed.
pub(super) const KEEPS_DENORMALS: u32 = 0xf0;

/// The rounding that is not to the nearest number.
pub(super) const ROUNDS: u32 = 0x0f;

/// The fault of an operation that depends on the mode of floats, and is made for one alone.
pub(super) fn unsupported(mode: u32) -> FaultKind {
    FaultKind::Unsupported(format!(
        "scalar arithmetic of floats in mode {:#x}, which does not keep subnormal numbers or does not round \
         to the nearest",
        mode & 0xff
    ))
}
