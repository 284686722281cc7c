//! Ownership of slots and bounce blocks: words in *device* memory, accessed by device threads with
//! device-scope atomics. The host initialises them at load and never reads them.
//!
//! Layout, from the address in [`DeviceConfig::claims`](crate::image::DeviceConfig::claims):
//! one [`ClaimsHeader`], then one [`ClaimGroup`] for every 32 slots, then one
//! `u32` for every 32 bounce blocks. A set bit means taken. Bits that stand for
//! no slot are set from the start.
//!
//! Edge `C1`: the claim that sets a bit (acquire) sees everything that the
//! thread that cleared it (release) did with the slot, its sequence number included.

/// Slots of one [`ClaimGroup`], bits of one word.
pub const GROUP: u32 = 32;

/// Words of the whole device.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimsHeader {
    /// The lock that `gcc-slot` requires: bit 0, which is 1 during a request.
    pub slot_lock: u32,
    /// Keeps the lock on a line of its own.
    pub reserved: [u32; 31],
}

/// The claims on 32 slots of a `native` wire.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimGroup {
    /// Bit `i`: slot `i` of the group is taken.
    pub taken: u32,
    /// Keeps `taken`, which all threads write, on another line than the sequence numbers.
    pub reserved: [u32; 31],
    /// The sequence number of slot `i`'s last request; belongs to the slot's owner.
    pub seqs: [u32; GROUP as usize],
}

/// Number of [`ClaimGroup`]s for `slots` slots.
#[must_use]
pub const fn groups(slots: u32) -> u32 {
    slots.div_ceil(GROUP)
}

/// Byte offset of group `group`.
#[must_use]
pub const fn group_offset(group: u32) -> usize {
    size_of::<ClaimsHeader>() + group as usize * size_of::<ClaimGroup>()
}

/// Byte offset of the word for bounce blocks `32 * word` and on.
#[must_use]
pub const fn bounce_offset(slots: u32, word: u32) -> usize {
    group_offset(groups(slots)) + word as usize * 4
}

/// Size in bytes of the claims for `slots` slots and `blocks` bounce blocks.
#[must_use]
pub const fn size(slots: u32, blocks: u32) -> usize {
    bounce_offset(slots, blocks.div_ceil(GROUP))
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ClaimsHeader>() == 128 && align_of::<ClaimsHeader>() == 128);
    assert!(offset_of!(ClaimsHeader, slot_lock) == 0);
    assert!(offset_of!(ClaimsHeader, reserved) == 4);
    assert!(size_of::<ClaimGroup>() == 256 && align_of::<ClaimGroup>() == 128);
    assert!(offset_of!(ClaimGroup, taken) == 0);
    assert!(offset_of!(ClaimGroup, reserved) == 4);
    assert!(offset_of!(ClaimGroup, seqs) == 128);
};
