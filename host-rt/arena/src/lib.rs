//! Device memory of devices that have the host's: one reserved range of addresses,
//! pages of it used as they are touched.

use std::collections::BTreeMap;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Alignment of every block, and the granularity of sizes.
pub const ALIGN: u64 = 256;

/// An arena of device memory.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    /// Where the device sees the first byte.
    window: u64,
    bytes: u64,
    blocks: Mutex<Blocks>,
}

// SAFETY: the arena is a mapping that lives as long as `self`; its bookkeeping is
// behind a mutex, and its bytes are accessed only through raw pointers.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

#[derive(Debug)]
struct Blocks {
    /// Offset to length of what is free; neighbours are merged.
    free: BTreeMap<u64, u64>,
    /// Offset to length, and to the length asked for, of what is allocated.
    used: BTreeMap<u64, (u64, u64)>,
    used_bytes: u64,
    /// From here on no block has ever been: it is all zeros.
    fresh: u64,
}

impl Arena {
    /// Reserves `bytes` of addresses, which the device sees from `window` on, or where
    /// the host sees them.
    ///
    /// # Errors
    /// The system does not give that much.
    pub fn new(bytes: u64, window: Option<u64>) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(1 << 12);
        // SAFETY: an anonymous mapping at an address of the kernel's choice
        // touches no memory of ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        let blocks = Blocks {
            free: BTreeMap::from([(0, bytes)]),
            used: BTreeMap::new(),
            used_bytes: 0,
            fresh: 0,
        };
        Ok(Self {
            base,
            window: window.unwrap_or(base.as_ptr() as u64),
            bytes,
            blocks: Mutex::new(blocks),
        })
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        // What it guards is consistent wherever a panic could happen.
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the device sees the first byte.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Where the host sees the first byte.
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Size of the range in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that are allocated.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.blocks().used_bytes
    }

    /// Where the host sees a device address; `None` if it is not in the range.
    #[must_use]
    pub fn host(&self, address: u64) -> Option<*mut u8> {
        let offset = address
            .checked_sub(self.window)
            .filter(|&offset| offset < self.bytes)?;
        Some(self.base.as_ptr().wrapping_add(offset as usize))
    }

    /// Allocates `bytes` zeroed bytes and returns their device address, aligned to
    /// [`ALIGN`]; `None` if there is no room.
    pub fn alloc(&self, bytes: u64) -> Option<u64> {
        let len = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let mut blocks = self.blocks();
        let (&offset, &free) = blocks.free.iter().find(|&(_, &free)| free >= len)?;
        blocks.free.remove(&offset);
        if free > len {
            blocks.free.insert(offset + len, free - len);
        }
        blocks.used.insert(offset, (len, bytes));
        blocks.used_bytes += len;
        let dirty = blocks.fresh.clamp(offset, offset + len) - offset;
        blocks.fresh = blocks.fresh.max(offset + len);
        drop(blocks);
        for word in (offset..offset + dirty).step_by(8) {
            // SAFETY: inside the mapping, whose blocks are aligned to more. Device threads
            // that still use what was freed do so with atomic accesses, as this one is.
            let word = unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(word as usize).cast()) };
            // Whoever tells others of the block orders this.
            word.store(0, Ordering::Relaxed);
        }
        Some(self.window + offset)
    }

    /// Size, as asked for, of the block at `address`, if there is one.
    #[must_use]
    pub fn block(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.window);
        self.blocks().used.get(&offset).map(|&(_, bytes)| bytes)
    }

    /// Frees the block at `address`, if there is one.
    pub fn free(&self, address: u64) {
        let mut blocks = self.blocks();
        let mut offset = address.wrapping_sub(self.window);
        let Some((mut len, _)) = blocks.used.remove(&offset) else {
            return;
        };
        blocks.used_bytes -= len;
        if let Some(next) = blocks.free.remove(&(offset + len)) {
            len += next;
        }
        if let Some((&before, &size)) = blocks.free.range(..offset).next_back()
            && before + size == offset
        {
            blocks.free.remove(&before);
            offset = before;
            len += size;
        }
        blocks.free.insert(offset, len);
    }

    /// Whether the range lies in one allocated block; `None` if it does not even
    /// start in the arena.
    pub fn contains(&self, address: u64, len: u64) -> Option<bool> {
        let offset = address
            .checked_sub(self.window)
            .filter(|&offset| offset < self.bytes)?;
        let blocks = self.blocks();
        let inside =
            blocks
                .used
                .range(..=offset)
                .next_back()
                .is_some_and(|(&start, &(_, size))| {
                    (offset - start)
                        .checked_add(len)
                        .is_some_and(|end| end <= size)
                });
        Some(inside)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of this size, and nobody uses it any more:
        // device memory must not outlive its device.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_split_and_merged() {
        let arena = Arena::new(1 << 20, None).unwrap();
        let a = arena.alloc(1000).unwrap();
        let b = arena.alloc(1).unwrap();
        let c = arena.alloc(5000).unwrap();
        assert!(
            [a, b, c]
                .iter()
                .all(|address| address.is_multiple_of(ALIGN))
        );
        assert_eq!(arena.contains(a, 1000), Some(true));
        assert_eq!(
            arena.contains(a, 1001),
            Some(false),
            "one byte past what was asked for"
        );
        assert_eq!(arena.contains(a + 999, 1), Some(true));
        assert_eq!(arena.contains(a, u64::MAX), Some(false));
        assert_eq!(arena.contains(0x1000, 1), None);
        arena.free(b);
        arena.free(b);
        arena.free(a);
        assert_eq!(arena.contains(a, 1), Some(false));
        arena.free(c);
        assert_eq!(arena.used(), 0);
        assert!(
            arena.alloc(1 << 20).is_some(),
            "all of it is one block again"
        );
        assert!(arena.alloc(1).is_none());
    }

    #[test]
    fn memory_is_zeroed_again() {
        let arena = Arena::new(1 << 20, None).unwrap();
        let a = arena.alloc(64).unwrap();
        // SAFETY: `a` is a block of 64 bytes of ours.
        unsafe { std::ptr::write_bytes(a as *mut u8, 7, 64) };
        arena.free(a);
        let b = arena.alloc(64).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { *(b as *const u64) }, 0);
    }
}
