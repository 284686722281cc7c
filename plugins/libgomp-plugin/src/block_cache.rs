//! A cache of device memory for launches, such as the stacks of GCC's device threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use revoff_host::DeviceBuffer;
use revoff_host::device::DeviceAddr;

/// Maximum bytes in the cache: enough for several launches that fill the largest GPU.
const MAX_BYTES: u64 = 4 << 30;

/// A block may be at most this many times as large as a launch needs: so a launch that fills the
/// GPU finds its block again although a small one was launched in between.
const TIMES: u64 = 4;

/// Blocks up to this size suit any launch, since GPUs rarely allocate less at a time.
const SMALL: u64 = 2 << 20;

/// Unused blocks, in the order of their return.
pub(crate) struct BlockCache {
    blocks: Mutex<Vec<DeviceBuffer>>,
    /// Maximum bytes in total.
    most: u64,
}

impl Default for BlockCache {
    fn default() -> Self {
        Self {
            blocks: Mutex::default(),
            most: MAX_BYTES,
        }
    }
}

/// The block of a launch, which is returned to the cache on drop.
pub struct CachedBlock {
    cache: Arc<BlockCache>,
    /// Taken by the drop.
    block: Option<DeviceBuffer>,
}

impl BlockCache {
    /// No panic leaves the list inconsistent.
    fn lock(&self) -> MutexGuard<'_, Vec<DeviceBuffer>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest suitable block of at least `bytes` bytes, with unspecified contents.
    pub(crate) fn take(&self, bytes: u64) -> Option<DeviceBuffer> {
        let mut blocks = self.lock();
        let sizes = bytes..=bytes.saturating_mul(TIMES).max(SMALL);
        let fits = (0..blocks.len()).filter(|&at| sizes.contains(&blocks[at].bytes()));
        let best = fits.min_by_key(|&at| blocks[at].bytes())?;
        Some(blocks.remove(best))
    }

    /// Keeps a block, and frees the oldest ones if there are too many bytes.
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
        // Freed without the lock, since freeing may wait for the device.
        drop(blocks);
        drop(too_many);
    }

    /// Frees all unused blocks.
    pub(crate) fn clear(&self) {
        let unused = std::mem::take(&mut *self.lock());
        drop(unused);
    }
}

impl CachedBlock {
    /// `block`, which is then returned to `cache`.
    pub(crate) fn new(cache: &Arc<BlockCache>, block: DeviceBuffer) -> Self {
        Self {
            cache: Arc::clone(cache),
            block: Some(block),
        }
    }

    /// Its device address.
    #[must_use]
    pub fn address(&self) -> DeviceAddr {
        let block = self.block.as_ref();
        block.expect("only the drop takes it").address()
    }
}

impl Drop for CachedBlock {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.cache.give(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    const KIB: u64 = 1 << 10;

    fn sizes(cache: &BlockCache) -> Vec<u64> {
        cache
            .lock()
            .iter()
            .map(|block| block.bytes() / KIB)
            .collect()
    }

    #[test]
    fn the_smallest_that_fits_is_taken() {
        let device = Device::open(0, "emu").unwrap();
        let cache = BlockCache::default();
        for kib in [512, 32, 64] {
            cache.give(device.memory(kib * KIB).unwrap());
        }
        assert_eq!(cache.take(33 * KIB).unwrap().bytes(), 64 * KIB);
        assert_eq!(sizes(&cache), [512, 32]);
        assert!(cache.take(513 * KIB).is_none());
    }

    #[test]
    fn a_large_block_is_not_for_a_small_launch() {
        let device = Device::open(0, "emu").unwrap();
        let cache = BlockCache::default();
        cache.give(device.memory(16 << 20).unwrap());
        assert!(cache.take(32 * KIB).is_none());
        assert!(cache.take((4 << 20) - 1).is_none());
        assert_eq!(cache.take(4 << 20).unwrap().bytes(), 16 << 20);
        // Small blocks suit any launch.
        cache.give(device.memory(SMALL).unwrap());
        assert_eq!(cache.take(1).unwrap().bytes(), SMALL);
    }

    #[test]
    fn what_has_been_there_longest_goes_first() {
        let device = Device::open(0, "emu").unwrap();
        let cache = BlockCache {
            most: 100 * KIB,
            ..BlockCache::default()
        };
        for (kib, kept) in [
            (40, &[40][..]),
            (60, &[40, 60]),
            (1, &[60, 1]),
            (101, &[]),
            (100, &[100]),
        ] {
            cache.give(device.memory(kib * KIB).unwrap());
            assert_eq!(sizes(&cache), kept);
        }
    }

    #[test]
    fn what_a_launch_has_left_the_next_one_gets() {
        let device = Device::open(0, "emu").unwrap();
        let first = device.launch_memory(64 * KIB).unwrap();
        let address = first.address();
        drop(first);
        assert_eq!(device.launch_memory(32 * KIB).unwrap().address(), address);
        // If there is not enough memory, unused blocks are freed first.
        assert!(device.memory(1 << 60).is_err());
        assert_eq!(sizes(&device.cache), []);
    }
}
