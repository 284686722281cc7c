//! Claims on runs of bounce blocks.
//!
//! A thread that needs a run takes it *before* it takes a slot. Whoever holds a
//! slot then holds everything it needs and gets done, so waiting for either
//! cannot end in a circle.

use shared_abi::wire::{bounce, claims};
use shared_abi::words::{DeviceWords, Load};

/// A run of blocks that the calling thread owns until it releases it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First block.
    pub first: u32,
    /// Number of blocks, 1 to [`bounce::MAX_RUN`]; 0 for "none needed".
    pub blocks: u32,
}

impl Run {
    /// No blocks.
    pub const NONE: Run = Run {
        first: 0,
        blocks: 0,
    };

    /// Byte offset of the run in the bounce area.
    #[must_use]
    pub const fn offset(self) -> usize {
        self.first as usize * bounce::BLOCK
    }

    const fn mask(self) -> u32 {
        // At most 32 bits, so shifting in u64 loses none.
        (((1u64 << self.blocks) - 1) << (self.first % claims::GROUP)) as u32
    }
}

/// Blocks that `bytes` need; `None` if no run is that long.
#[must_use]
pub fn blocks_for(bytes: u32, area: u32) -> Option<u32> {
    let blocks = bytes.div_ceil(bounce::BLOCK as u32);
    (blocks <= bounce::MAX_RUN.min(area)).then_some(blocks)
}

/// Claims a run of `blocks` (see [`blocks_for`]) of an area of `area` blocks;
/// waits with `pause` while there is none.
pub fn claim(
    device: &impl DeviceWords,
    slots: u32,
    area: u32,
    blocks: u32,
    hint: u32,
    pause: impl Fn(u32),
) -> Run {
    if blocks == 0 {
        return Run::NONE;
    }
    let words = area / claims::GROUP;
    // A word below `words` for each hint, without a division: the golden ratio of 2^32
    // sends neighbours far apart.
    let spread = hint.wrapping_mul(0x9e37_79b9);
    let mut word = ((u64::from(spread) * u64::from(words)) >> 32) as u32;
    let mut attempt = 0;
    loop {
        for _ in 0..words {
            let at = claims::bounce_offset(slots, word);
            // Relaxed: only a guess, `fetch_or_acquire` decides.
            let taken = device.load32(at, Load::Relaxed);
            if let Some(shift) = find_run(taken, blocks) {
                let run = Run {
                    first: word * claims::GROUP + shift,
                    blocks,
                };
                // Edge `C2`, claiming end: see `release`.
                let before = device.fetch_or_acquire(at, run.mask());
                if before & run.mask() == 0 {
                    return run;
                }
                // Somebody was faster for a part of it; give the rest back. A relaxed
                // access would do: these blocks were never used in between, and the
                // release of their last owner goes on through both of ours. Release
                // is what clearing has, and this is rare.
                device.fetch_and_release(at, !(run.mask() & !before));
            }
            word = if word + 1 == words { 0 } else { word + 1 };
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// Gives the run back. The caller has read everything it wants of it.
pub fn release(device: &impl DeviceWords, slots: u32, run: Run) {
    if run.blocks != 0 {
        let at = claims::bounce_offset(slots, run.first / claims::GROUP);
        // Edge `C2`, releasing end: the next owner's stores to these blocks come
        // after our loads from them.
        device.fetch_and_release(at, !run.mask());
    }
}

/// Lowest position of `blocks` clear bits in a row.
fn find_run(taken: u32, blocks: u32) -> Option<u32> {
    let mask = ((1u64 << blocks) - 1) as u32;
    (0..=claims::GROUP - blocks).find(|&shift| taken & (mask << shift) == 0)
}
