//! The allocator: one lock around the memory that the host gave. Its functions are not inlined: they are
//! large, and called from everywhere.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;

use spin::mutex::TicketMutex;
use talc::TalcLock;
use talc::source::Manual;

/// A lock of words: LLVM reads the surroundings of a byte that it compares and exchanges without
/// regard to other threads. Threads take turns.
static HEAP: TalcLock<TicketMutex<()>, Manual> = TalcLock::new(Manual);

/// Gives memory to the heap.
///
/// # Safety
/// Nobody else uses the memory.
pub(crate) unsafe fn give(memory: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { HEAP.lock().claim(memory, len) };
}

/// Memory that std asks for has a size above 0 and an alignment that is a power of two.
unsafe fn layout(size: usize, align: usize) -> Layout {
    // SAFETY: the caller passes the parts of a layout.
    unsafe { Layout::from_size_align_unchecked(size, align) }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn std_alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the platform layer passes a layout's parts, and std never asks for no memory.
    unsafe { HEAP.alloc(layout(size, align)) }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn std_dealloc(memory: *mut u8, size: usize, align: usize) {
    // SAFETY: the platform layer passes what `std_alloc` returned for this layout.
    unsafe { HEAP.dealloc(memory, layout(size, align)) }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn std_realloc(memory: *mut u8, size: usize, align: usize, new_size: usize) -> *mut u8 {
    if new_size == 0 {
        return ptr::null_mut();
    }
    // SAFETY: as above.
    unsafe { HEAP.realloc(memory, layout(size, align), new_size) }
}
