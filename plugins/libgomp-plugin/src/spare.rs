//! Memory that launches have left, such as the stacks of GCC's device threads, for the next ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_rt::DeviceBuffer;

/// Most bytes that are kept: what several launches take that fill the largest GPU.
const MOST: u64 = 4 << 30;

/// A block may have this many times what a launch needs, and no more: so a launch that fills the
/// GPU finds its block again although a small one came between.
const TIMES: u64 = 4;

/// But a block of so many bytes is for any launch: GPUs hardly allocate less at a time.
const SMALL: u64 = 2 << 20;

/// Blocks that no launch uses, in the order in which they came back.
pub(crate) struct Spare {
    blocks: Mutex<Vec<DeviceBuffer>>,
    /// Most bytes of them.
    most: u64,
}

impl Default for Spare {
    fn default() -> Self {
        Self {
            blocks: Mutex::default(),
            most: MOST,
        }
    }
}

/// The block of a launch; goes back when dropped.
pub struct Lent {
    spare: Arc<Spare>,
    /// Taken by the drop.
    block: Option<DeviceBuffer>,
}

impl Spare {
    /// A list of blocks is whole whatever panics.
    fn lock(&self) -> MutexGuard<'_, Vec<DeviceBuffer>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest block of at least `bytes` bytes, and not of many times as much, with whatever
    /// was in it.
    pub(crate) fn take(&self, bytes: u64) -> Option<DeviceBuffer> {
        let mut blocks = self.lock();
        let sizes = bytes..=bytes.saturating_mul(TIMES).max(SMALL);
        let fits = (0..blocks.len()).filter(|&at| sizes.contains(&blocks[at].bytes()));
        let best = fits.min_by_key(|&at| blocks[at].bytes())?;
        Some(blocks.remove(best))
    }

    /// Keeps a block, and lets go of those that have been here longest if they are too many.
    fn give(&self, block: DeviceBuffer) {
        let mut blocks = self.lock();
        blocks.push(block);
        let mut kept = 0;
        let newest = blocks.iter().rev().take_while(|block| {
            kept += block.bytes();
            kept <= self.most
        });
        let first = blocks.len() - newest.count();
        let too_many: Vec<_> = blocks.drain(..first).collect();
        // Freeing may wait for the device.
        drop(blocks);
        drop(too_many);
    }

    /// Frees what no launch uses.
    pub(crate) fn clear(&self) {
        let unused = std::mem::take(&mut *self.lock());
        drop(unused);
    }
}

impl Lent {
    /// `block`, which then goes to `spare`.
    pub(crate) fn new(spare: &Arc<Spare>, block: DeviceBuffer) -> Self {
        Self {
            spare: Arc::clone(spare),
            block: Some(block),
        }
    }

    /// Its device address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.block.as_ref().map_or(0, DeviceBuffer::address)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.spare.give(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    const KIB: u64 = 1 << 10;

    fn sizes(spare: &Spare) -> Vec<u64> {
        spare
            .lock()
            .iter()
            .map(|block| block.bytes() / KIB)
            .collect()
    }

    #[test]
    fn the_smallest_that_fits_is_taken() {
        let device = Device::open(0, "emu").unwrap();
        let spare = Spare::default();
        for kib in [512, 32, 64] {
            spare.give(device.memory(kib * KIB).unwrap());
        }
        assert_eq!(spare.take(33 * KIB).unwrap().bytes(), 64 * KIB);
        assert_eq!(sizes(&spare), [512, 32]);
        assert!(spare.take(513 * KIB).is_none());
    }

    #[test]
    fn a_large_block_is_not_for_a_small_launch() {
        let device = Device::open(0, "emu").unwrap();
        let spare = Spare::default();
        spare.give(device.memory(16 << 20).unwrap());
        assert!(spare.take(32 * KIB).is_none());
        assert!(spare.take((4 << 20) - 1).is_none());
        assert_eq!(spare.take(4 << 20).unwrap().bytes(), 16 << 20);
        // Of little it is not worth the while.
        spare.give(device.memory(SMALL).unwrap());
        assert_eq!(spare.take(1).unwrap().bytes(), SMALL);
    }

    #[test]
    fn what_has_been_there_longest_goes_first() {
        let device = Device::open(0, "emu").unwrap();
        let spare = Spare {
            most: 100 * KIB,
            ..Spare::default()
        };
        for (kib, kept) in [
            (40, &[40][..]),
            (60, &[40, 60]),
            (1, &[60, 1]),
            (101, &[]),
            (100, &[100]),
        ] {
            spare.give(device.memory(kib * KIB).unwrap());
            assert_eq!(sizes(&spare), kept);
        }
    }

    #[test]
    fn what_a_launch_has_left_the_next_one_gets() {
        let device = Device::open(0, "emu").unwrap();
        let first = device.lend(64 * KIB).unwrap();
        let address = first.address();
        drop(first);
        assert_eq!(device.lend(32 * KIB).unwrap().address(), address);
        // Where there is not enough, it may be what nobody uses that is in the way.
        assert!(device.memory(1 << 60).is_err());
        assert_eq!(sizes(&device.spare), []);
    }
}
