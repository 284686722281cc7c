//! Device memory of the `host` device: one reserved range of addresses, pages
//! of it used as they are touched.

use std::collections::BTreeMap;
use std::io;
use std::ptr::NonNull;
use std::sync::Mutex;

use super::lock;
use crate::device::MemoryInfo;

/// Alignment of every block, and the granularity of sizes.
const ALIGN: u64 = 256;

/// An arena of device memory.
#[derive(Debug)]
pub(super) struct Arena {
    base: NonNull<u8>,
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
}

impl Arena {
    /// Reserves `bytes` of addresses.
    pub(super) fn new(bytes: u64) -> io::Result<Self> {
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
        };
        Ok(Self {
            base,
            bytes,
            blocks: Mutex::new(blocks),
        })
    }

    fn base(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Allocates `bytes` zeroed bytes; `None` if there is no room.
    pub(super) fn alloc(&self, bytes: u64) -> Option<u64> {
        let len = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let mut blocks = lock(&self.blocks);
        let (&offset, &free) = blocks.free.iter().find(|&(_, &free)| free >= len)?;
        blocks.free.remove(&offset);
        if free > len {
            blocks.free.insert(offset + len, free - len);
        }
        blocks.used.insert(offset, (len, bytes));
        blocks.used_bytes += len;
        drop(blocks);
        // SAFETY: the block lies in the mapping and belongs to nobody else.
        unsafe { std::ptr::write_bytes(self.base.as_ptr().add(offset as usize), 0, len as usize) };
        Some(self.base() + offset)
    }

    /// Frees the block at `address`, if there is one.
    pub(super) fn free(&self, address: u64) {
        let mut blocks = lock(&self.blocks);
        let mut offset = address.wrapping_sub(self.base());
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
    pub(super) fn contains(&self, address: u64, len: u64) -> Option<bool> {
        let offset = address
            .checked_sub(self.base())
            .filter(|&offset| offset < self.bytes)?;
        let blocks = lock(&self.blocks);
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

    pub(super) fn info(&self) -> MemoryInfo {
        MemoryInfo {
            total: self.bytes,
            used: lock(&self.blocks).used_bytes,
        }
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
        let arena = Arena::new(1 << 20).unwrap();
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
        assert_eq!(arena.info().used, 0);
        assert!(
            arena.alloc(1 << 20).is_some(),
            "all of it is one block again"
        );
        assert!(arena.alloc(1).is_none());
    }

    #[test]
    fn memory_is_zeroed_again() {
        let arena = Arena::new(1 << 20).unwrap();
        let a = arena.alloc(64).unwrap();
        // SAFETY: `a` is a block of 64 bytes of ours.
        unsafe { std::ptr::write_bytes(a as *mut u8, 7, 64) };
        arena.free(a);
        let b = arena.alloc(64).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { *(b as *const u64) }, 0);
    }
}
