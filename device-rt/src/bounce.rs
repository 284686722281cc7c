//! Claims on extents of bounce blocks.
//!
//! A thread claims its extent *before* its slot. The owner of a slot then needs nothing else to
//! finish, so waiting for either cannot deadlock.

use shared_abi::wire::{bounce, claims};
use shared_abi::words::{DeviceWords, Load};

/// Consecutive blocks that the calling thread owns until it releases them.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First block.
    pub first: u32,
    /// Number of blocks, 1 to [`bounce::MAX_EXTENT`]; 0 for "none needed".
    pub blocks: u32,
}

impl Extent {
    /// No blocks.
    pub const NONE: Extent = Extent {
        first: 0,
        blocks: 0,
    };

    /// Byte offset of the extent in the bounce area.
    #[must_use]
    pub const fn offset(self) -> usize {
        self.first as usize * bounce::BLOCK
    }

    const fn mask(self) -> u32 {
        // At most 32 bits, so shifting in u64 loses none.
        (((1u64 << self.blocks) - 1) << (self.first % claims::GROUP)) as u32
    }
}

/// The number of blocks for `bytes`; `None` if no extent is that long.
#[must_use]
pub fn blocks_for(bytes: u32, area: u32) -> Option<u32> {
    let blocks = bytes.div_ceil(bounce::BLOCK as u32);
    (blocks <= bounce::MAX_EXTENT.min(area)).then_some(blocks)
}

/// Claims an extent of `blocks` (see [`blocks_for`]) of an area of `area` blocks; waits with
/// `pause` while none is free. The search begins at a word that depends on `home`.
pub fn claim(
    device: &impl DeviceWords,
    slots: u32,
    area: u32,
    blocks: u32,
    home: u32,
    pause: impl Fn(u32),
) -> Extent {
    if blocks == 0 {
        return Extent::NONE;
    }
    let words = area / claims::GROUP;
    // A word below `words` for each home, without a division: the golden ratio of 2^32 spreads
    // neighbouring homes.
    let spread = home.wrapping_mul(0x9e37_79b9);
    let mut word = ((u64::from(spread) * u64::from(words)) >> 32) as u32;
    let mut attempt = 0;
    loop {
        for _ in 0..words {
            let at = claims::bounce_offset(slots, word);
            // Relaxed: only a guess, `fetch_or_acquire` decides.
            let taken = device.load32(at, Load::Relaxed);
            if let Some(shift) = find_extent(taken, blocks) {
                let extent = Extent {
                    first: word * claims::GROUP + shift,
                    blocks,
                };
                // Edge `C2`, claiming end: see `release`.
                let before = device.fetch_or_acquire(at, extent.mask());
                if before & extent.mask() == 0 {
                    return extent;
                }
                // Another thread took part of it first: give the rest back. A relaxed access
                // would do, since these blocks were not used in between and their last
                // owner's release continues through both of ours. Only a releasing one
                // exists, and this is rare.
                device.fetch_and_release(at, !(extent.mask() & !before));
            }
            word = if word + 1 == words { 0 } else { word + 1 };
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// Frees the extent. The caller is done reading it.
pub fn release(device: &impl DeviceWords, slots: u32, extent: Extent) {
    if extent.blocks != 0 {
        let at = claims::bounce_offset(slots, extent.first / claims::GROUP);
        // Edge `C2`, releasing end: the next owner's stores to these blocks come
        // after our loads from them.
        device.fetch_and_release(at, !extent.mask());
    }
}

/// The lowest position of `blocks` consecutive clear bits.
fn find_extent(taken: u32, blocks: u32) -> Option<u32> {
    let mask = ((1u64 << blocks) - 1) as u32;
    (0..=claims::GROUP - blocks).find(|&shift| taken & (mask << shift) == 0)
}
