//! The memory that all threads share: `talc` behind a lock. If it is exhausted, a thread asks the host
//! for another piece.
//!
//! The call to the host is made under a lock of its own, so that other threads go on to allocate and to
//! free, and only those wait that need more memory as well. If the host cannot answer, the call returns
//! an error, and so does the allocation. The call does not allocate.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use revoff_device::arch;
use spin::mutex::{TicketMutex, TicketMutexGuard};
use std_calls::HeapPiece;
use talc::DefaultBinning;
use talc::base::Talc;
use talc::source::Manual;

/// Memory that the host gave, and its free parts.
struct Shared {
    talc: Talc<Manual, DefaultBinning>,
    /// How many pieces the host has given.
    pieces: u32,
}

/// A lock of words: an exchange of a byte takes a loop on a GPU.
static SHARED: TicketMutex<Shared> = TicketMutex::new(Shared {
    talc: Talc::new(Manual),
    pieces: 0,
});

/// Held while a thread asks the host for a piece. A thread that holds both locks took this one first.
static GROWTH: TicketMutex<()> = TicketMutex::new(());

/// The bytes that `talc` may need for an allocation besides its size and alignment.
const OVERHEAD: usize = 1 << 10;

/// Locks a mutex. Waits longer after each attempt: on the `host` device, the owner may need this
/// thread's processor.
fn lock<T>(mutex: &TicketMutex<T>) -> TicketMutexGuard<'_, T> {
    let mut attempt = 0_u32;
    loop {
        if let Some(guard) = mutex.try_lock() {
            return guard;
        }
        arch::pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

impl Shared {
    fn alloc(&mut self, layout: Layout) -> *mut u8 {
        // SAFETY: std asks for no layout without a size.
        let memory = unsafe { self.talc.allocate(layout) };
        memory.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    /// # Safety
    /// As for [`give`].
    unsafe fn add(&mut self, memory: *mut u8, len: usize) {
        // SAFETY: the caller's promise. A piece that is too small for `talc` is lost.
        unsafe { self.talc.claim(memory, len) };
        self.pieces += 1;
    }
}

/// Gives memory to the heap.
///
/// # Safety
/// Nobody else uses the memory, until the launch has ended.
pub(super) unsafe fn give(memory: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { lock(&SHARED).add(memory, len) };
}

/// A block, or null if the heap cannot grow any more.
pub(super) fn alloc(layout: Layout) -> *mut u8 {
    loop {
        let mut shared = lock(&SHARED);
        let memory = shared.alloc(layout);
        let pieces = shared.pieces;
        drop(shared);
        if !memory.is_null() || !grow(layout, pieces) {
            return memory;
        }
    }
}

/// A block, or null if the heap would have to grow for it.
pub(super) fn try_alloc(layout: Layout) -> *mut u8 {
    lock(&SHARED).alloc(layout)
}

/// Calls `keep` with blocks, at most `count`, for which the heap need not grow. `keep` must not
/// allocate.
pub(super) fn alloc_some(layout: Layout, count: usize, mut keep: impl FnMut(*mut u8)) {
    let mut shared = lock(&SHARED);
    for _ in 0..count {
        let memory = shared.alloc(layout);
        if memory.is_null() {
            return;
        }
        keep(memory);
    }
}

/// Frees blocks. The iterator must not allocate.
///
/// # Safety
/// They were allocated here with this layout, and nobody uses them.
pub(super) unsafe fn dealloc(layout: Layout, blocks: impl IntoIterator<Item = *mut u8>) {
    let mut shared = lock(&SHARED);
    for block in blocks {
        // SAFETY: the caller's promise.
        unsafe { shared.talc.deallocate(block, layout) };
    }
}

/// Resizes a block without moving it. False if that is impossible.
///
/// # Safety
/// It was allocated here with this layout; `size` is above 0.
pub(super) unsafe fn resize(memory: *mut u8, layout: Layout, size: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        lock(&SHARED)
            .talc
            .try_realloc_in_place(memory, layout, size)
    }
}

/// Asks the host for another piece, unless the heap has more of them than `pieces`. False if there is
/// none.
fn grow(layout: Layout, pieces: u32) -> bool {
    let _growth = lock(&GROWTH);
    if lock(&SHARED).pieces != pieces {
        return true;
    }
    let least = layout.size().saturating_add(layout.align() + OVERHEAD);
    let mut piece = HeapPiece::default();
    if !matches!(std_calls::std_grow_heap(least as u64, &mut piece), Ok(0..)) {
        return false;
    }
    let memory = ptr::with_exposed_provenance_mut(piece.address as usize);
    // SAFETY: the host has allocated it for this program, and keeps it as long as the launch lives.
    unsafe { lock(&SHARED).add(memory, piece.bytes as usize) };
    true
}
