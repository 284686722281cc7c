use crate::alloc::{GlobalAlloc, Layout, System};
use crate::sys::pal::device::{std_alloc, std_dealloc, std_realloc};

#[stable(feature = "alloc_system_type", since = "1.28.0")]
unsafe impl GlobalAlloc for System {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        std_alloc(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        std_dealloc(memory, layout.size(), layout.align());
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        std_realloc(memory, layout.size(), layout.align(), new_size)
    }
}
