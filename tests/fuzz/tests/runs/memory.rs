//! How much memory a call uses at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// The bytes that this thread has allocated and not freed since the last measurement began, and the most of them at
    /// a time. Of each thread, since tests run at the same time.
    static USED: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn add(bytes: isize) {
    // A thread can always reach it, as it has no destructor.
    USED.with(|used| {
        let (now, peak) = used.get();
        let now = now + bytes;
        used.set((now, peak.max(now)));
    });
}

/// The system's allocator, with these counters.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the system's allocator does it all. Counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller keeps `alloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        // SAFETY: the caller keeps `dealloc`'s contract; `at` came from the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Calls a function. Also returns the most bytes that this thread had allocated in it at a time.
pub(super) fn peak<T>(function: impl FnOnce() -> T) -> (T, usize) {
    USED.set((0, 0));
    let result = function();
    let (_, peak) = USED.get();
    (result, peak.cast_unsigned())
}
