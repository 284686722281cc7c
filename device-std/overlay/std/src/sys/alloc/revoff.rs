use crate::alloc::{GlobalAlloc, Layout, System};
use crate::sys::pal::device::{std_alloc, std_dealloc, std_realloc};

// SAFETY: `device-std` gives out memory of the size and the alignment that it is asked for, which overlaps
// no other until it is freed, and does not panic.
#[stable(feature = "alloc_system_type", since = "1.28.0")]
unsafe impl GlobalAlloc for System {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size and alignment of a layout.
        unsafe { std_alloc(layout.size(), layout.align()) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller allocated it here, with this layout, and gives it up.
        unsafe { std_dealloc(memory, layout.size(), layout.align()) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller allocated it here, with this layout; the new size fits a layout.
        unsafe { std_realloc(memory, layout.size(), layout.align(), new_size) }
    }
}
