//! The amount of allocated memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

/// The system's allocator, with a counter.
struct Counting;

static ALLOCATED: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Relaxed: a statistic.
        ALLOCATED.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // Relaxed: a statistic.
        ALLOCATED.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller keeps `dealloc`'s contract; `at` came from the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Currently allocated bytes.
pub(crate) fn allocated() -> isize {
    // Relaxed: a statistic.
    ALLOCATED.load(Ordering::Relaxed)
}
