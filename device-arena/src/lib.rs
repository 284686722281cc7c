//! Device memory for devices that share the host's: one reserved range of addresses, whose pages
//! are allocated when they are touched.

mod blocks;
pub mod bytes;
mod checked;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::blocks::{Blocks, New};
pub use self::checked::{AccessKind, CheckedArena, Neighbour};

/// Alignment of every block, and the granularity of sizes.
pub const ALIGN: u64 = 256;

/// The system's page size: 4 KiB on x86-64, up to 64 KiB on AArch64. A signal handler may call it: the
/// C libraries of Linux answer from a variable.
#[must_use]
pub fn page_size() -> u64 {
    // SAFETY: `sysconf` takes any number. Every system has pages.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// The whole pages in `offset..offset + len`: `madvise` rejects a start inside a page, and goes on to the end of the
/// last one, where another block may lie.
fn whole_pages(offset: u64, len: u64, page: u64) -> Range<u64> {
    let (start, end) = (offset.next_multiple_of(page), (offset + len) / page * page);
    start..end.max(start)
}

/// The initial content of new memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// Anything.
    Any,
}

/// The longest blocks whose pages stay when they are freed. New pages cost more than everything
/// else, and a program that frees a block often allocates another like it; but keeping longer
/// blocks could take up a machine's memory.
const MAX_WITH_PAGES: u64 = 1 << 30;

/// An arena of device memory.
///
/// Freed memory keeps its pages for the next blocks. Blocks longer than 1 GiB return theirs to the
/// system.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    /// The device address of the first byte.
    window: u64,
    bytes: u64,
    blocks: Mutex<Blocks>,
}

// SAFETY: the arena is a mapping that lives as long as `self`; its bookkeeping is
// behind a mutex, and its bytes are accessed only through raw pointers.
unsafe impl Send for Arena {}
// SAFETY: the bookkeeping is behind a mutex, and the bytes are accessed only through raw pointers.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves `bytes` of addresses. The device sees them from `window` on, by default at the
    /// host's addresses.
    ///
    /// # Errors
    /// The system does not provide that much.
    pub fn new(bytes: u64, window: Option<u64>) -> io::Result<Self> {
        let bytes = bytes
            .checked_next_multiple_of(page_size())
            .ok_or(io::ErrorKind::OutOfMemory)?;
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
        Ok(Self {
            base,
            window: window.unwrap_or(base.as_ptr() as u64),
            bytes,
            blocks: Mutex::new(Blocks::new(bytes)),
        })
    }

    /// Leaves a gap after each block while there is room, so that an access just past the end of
    /// one hits no other.
    #[must_use]
    pub fn with_gaps(self) -> Self {
        self.blocks().set_gap(ALIGN);
        self
    }

    /// Aligns blocks that are allocated from now on, if they are all aligned so, to a multiple of
    /// [`ALIGN`], which is at most the system's page size if the device has the host's addresses.
    #[must_use]
    pub fn with_alignment(self, align: u64) -> Self {
        self.blocks().set_alignment(align);
        self
    }

    /// Does not allocate memory again that was freed just before, while there is other memory, so
    /// that accesses to it are noticed.
    #[must_use]
    pub fn with_delayed_reuse(self) -> Self {
        self.blocks().delay_reuse();
        self
    }

    /// The block that contained an address and was freed recently, with
    /// [delayed reuse](Self::with_delayed_reuse): its begin and its size.
    #[must_use]
    pub fn freed(&self, address: u64) -> Option<(u64, u64)> {
        let offset = address.checked_sub(self.window)?;
        let (start, bytes) = self.blocks().freed(offset)?;
        Some((self.window + start, bytes))
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        // No panic leaves the bookkeeping inconsistent.
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device address of the first byte.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The host address of the first byte.
    #[inline]
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Size of the range in bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that are allocated.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.blocks().used_bytes()
    }

    /// The host address for a device address; `None` outside the range.
    #[inline]
    #[must_use]
    pub fn host(&self, address: u64) -> Option<*mut u8> {
        let offset = address
            .checked_sub(self.window)
            .filter(|&offset| offset < self.bytes)?;
        Some(self.base.as_ptr().wrapping_add(offset as usize))
    }

    /// Allocates `bytes` bytes and returns their device address, aligned to [`ALIGN`]; `None`
    /// if there is no room.
    pub fn alloc(&self, bytes: u64, fill: Fill) -> Option<u64> {
        let New { offset, dirty } = self.blocks().alloc(bytes)?;
        if fill == Fill::Zeros {
            self.clear(offset, dirty);
        }
        Some(self.window + offset)
    }

    /// Fills a part of a new block, whole words of it, with zeros.
    fn clear(&self, offset: u64, len: u64) {
        for word in (offset..offset + len).step_by(8) {
            // SAFETY: inside the mapping, whose blocks are aligned to more. Device threads that
            // still use freed memory access it atomically, as this does.
            let word = unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(word as usize).cast()) };
            // Relaxed: the caller orders it when it shares the block.
            word.store(0, Ordering::Relaxed);
        }
    }

    /// The requested size of the block at `address`, if there is one.
    #[must_use]
    pub fn block(&self, address: u64) -> Option<u64> {
        self.blocks().bytes(address.wrapping_sub(self.window))
    }

    /// Frees the block at `address`, if there is one.
    pub fn free(&self, address: u64) {
        let offset = address.wrapping_sub(self.window);
        let mut blocks = self.blocks();
        let Some(len) = blocks.free(offset) else {
            return;
        };
        if len > MAX_WITH_PAGES {
            // Under the lock, so that the range is not allocated meanwhile.
            self.give_pages_back(offset, len);
        }
    }

    /// Returns the pages inside a free range to the system.
    fn give_pages_back(&self, offset: u64, len: u64) {
        let pages = whole_pages(offset, len, page_size());
        let bytes = pages.end - pages.start;
        // SAFETY: inside the mapping, which stays; later reads return zeros, also those of device
        // threads that still use freed memory.
        unsafe {
            let start = self.base.as_ptr().add(pages.start as usize);
            libc::madvise(start.cast(), bytes as usize, libc::MADV_DONTNEED);
        }
    }

    /// Whether the range lies in one allocated block; `None` if it starts outside the arena.
    pub fn contains(&self, address: u64, len: u64) -> Option<bool> {
        let offset = address
            .checked_sub(self.window)
            .filter(|&offset| offset < self.bytes)?;
        Some(self.blocks().contain(offset, len))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of this size, and no longer used: device memory must not
        // outlive its device.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
    }
}
