//! Address spaces.

use crate::memory::{GROUP_APERTURE, PRIVATE_APERTURE};

/// Address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Global,
    /// LDS, addressed by offset.
    Lds,
    /// Private memory of a lane, addressed by offset.
    Private,
    /// Private memory of a wave, addressed by interleaved offset.
    Scratch,
}

/// Resolves a flat address to its space and the address in that space.
#[inline]
pub(super) fn of_flat(address: u64) -> (Space, u64) {
    match address >> 32 {
        high if high == GROUP_APERTURE >> 32 => (Space::Lds, address & u64::from(u32::MAX)),
        high if high == PRIVATE_APERTURE >> 32 => (Space::Private, address & u64::from(u32::MAX)),
        _ => (Space::Global, address),
    }
}
