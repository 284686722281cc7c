//! Host memory for the copies of one request.

use std::{
    alloc::{self, Layout},
    ptr::NonNull,
};

/// The largest alignment that an argument may request.
pub(super) const MAX_ALIGN: usize = 4096;

/// The smallest allocation, unless less may stay allocated.
const MIN_CHUNK: usize = 64 << 10;

/// A bump allocator that is emptied after each request and keeps its memory for
/// the next one. All of its memory is initialised at all times.
pub(super) struct Arena {
    chunk: Option<Chunk>,
    used: usize,
    /// Chunks that this request filled before `chunk`.
    full: Vec<Chunk>,
    /// Bytes that may stay allocated between requests.
    keep: usize,
}

impl Arena {
    pub(super) fn new(keep: usize) -> Self {
        Arena {
            chunk: None,
            used: 0,
            full: Vec::new(),
            keep,
        }
    }

    /// `len` bytes (at least one) at an address that equals `phase` modulo `align`, a power of two
    /// up to [`MAX_ALIGN`]; `None` if there is no memory. With `zero` the bytes are zero; otherwise
    /// the caller fills them before they are read.
    pub(super) fn take(
        &mut self,
        len: usize,
        align: usize,
        phase: usize,
        zero: bool,
    ) -> Option<NonNull<u8>> {
        debug_assert!(align.is_power_of_two() && align <= MAX_ALIGN && phase < align);
        let len = len.max(1);
        // Fails only for a fresh arena or a full chunk; a grown one has room.
        if let Some(place) = self.bump(len, align, phase, zero) {
            return Some(place);
        }
        self.grow(len.checked_add(align)?)?;
        self.bump(len, align, phase, zero)
    }

    #[inline]
    fn bump(&mut self, len: usize, align: usize, phase: usize, zero: bool) -> Option<NonNull<u8>> {
        let chunk = self.chunk.as_mut()?;
        // A chunk begins at a multiple of MAX_ALIGN, so offsets have the alignment of addresses.
        let offset = self.used + (phase.wrapping_sub(self.used) & (align - 1));
        let end = offset.checked_add(len)?;
        if end > chunk.size {
            return None;
        }
        // SAFETY: `offset + len <= size`, the bytes that `start` is valid for.
        let place = unsafe { chunk.start.add(offset) };
        if zero && offset < chunk.dirty {
            let stale = chunk.dirty.min(end) - offset;
            // SAFETY: `stale <= len` bytes from `place` lie in the chunk, and only the running
            // request uses them.
            unsafe { place.write_bytes(0, stale) };
        }
        chunk.dirty = chunk.dirty.max(end);
        self.used = end;
        Some(place)
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Option<()> {
        // Twice the last chunk, so that a request fills few chunks and the next similar one fits
        // into the last of them.
        let twice = self.chunk.as_ref().map_or(0, |chunk| chunk.size) * 2;
        let fresh = Chunk::new(
            bytes
                .max(MIN_CHUNK.min(self.keep))
                .max(twice.min(self.keep)),
        )?;
        self.full.extend(self.chunk.replace(fresh));
        self.used = 0;
        Some(())
    }

    /// Ends the request: all memory taken is free again.
    pub(super) fn reset(&mut self) {
        self.used = 0;
        if !self.full.is_empty() {
            self.full.clear();
        }
        if self
            .chunk
            .as_ref()
            .is_some_and(|chunk| chunk.size > self.keep)
        {
            self.chunk = None;
        }
    }
}

/// One allocation.
struct Chunk {
    allocation: NonNull<u8>,
    layout: Layout,
    /// First multiple of [`MAX_ALIGN`] in it.
    start: NonNull<u8>,
    /// Bytes from `start` on.
    size: usize,
    /// Bytes from `start` on that were ever handed out; the rest is still zero.
    dirty: usize,
}

impl Chunk {
    fn new(size: usize) -> Option<Self> {
        // Not with the allocator's own alignment: only for small alignments does it take zero pages
        // from the system instead of clearing them.
        let layout = Layout::from_size_align(size.checked_add(MAX_ALIGN)?, 16).ok()?;
        // SAFETY: the size is not zero.
        let allocation = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
        let skip = allocation.align_offset(MAX_ALIGN);
        if skip > MAX_ALIGN {
            // SAFETY: allocated above with this layout and not shared.
            unsafe { alloc::dealloc(allocation.as_ptr(), layout) };
            return None;
        }
        Some(Chunk {
            allocation,
            layout,
            // SAFETY: `skip` is at most MAX_ALIGN, which the allocation has on top of `size`.
            start: unsafe { allocation.add(skip) },
            size,
            dirty: 0,
        })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { alloc::dealloc(self.allocation.as_ptr(), self.layout) };
    }
}

// SAFETY: a chunk owns its allocation like a `Box<[u8]>`; its contents are not bound to a thread.
unsafe impl Send for Chunk {}
