//! Where addresses are.

use crate::memory::{GROUP_APERTURE, PRIVATE_APERTURE};

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Global,
    /// LDS, by the offset.
    Lds,
    /// Private memory of the lane, by the offset.
    Private,
    /// Private memory of the wave, by the interleaved offset.
    Scratch,
}

/// The space of a flat address, and the address there.
#[inline]
pub(super) fn of_flat(address: u64) -> (Space, u64) {
    match address >> 32 {
        high if high == GROUP_APERTURE >> 32 => (Space::Lds, address & u64::from(u32::MAX)),
        high if high == PRIVATE_APERTURE >> 32 => (Space::Private, address & u64::from(u32::MAX)),
        _ => (Space::Global, address),
    }
}
