//! The allocator. Its functions are not inlined: they are large, and called from everywhere.
//!
//! | module | job |
//! |---|---|
//! | `classes` | sizes of small blocks |
//! | `magazine` | small free blocks, which each thread keeps for itself |
//! | `shared` | the memory of all threads, behind a lock; the host makes it larger |
//! | `statistics` | counts allocations, if the launch asks for it |

mod classes;
mod magazine;
mod shared;
mod statistics;

use core::alloc::Layout;
use core::ptr;

pub(crate) use self::magazine::empty;
pub(crate) use self::statistics::report;

/// Gives the heap its first memory, and prepares it for all threads of the grid.
///
/// # Safety
/// Nobody else uses the memory, and no other thread has used the heap. The caller publishes what it did
/// before to each thread that uses the heap.
pub(crate) unsafe fn open(memory: *mut u8, len: usize, has_statistics: bool) {
    // SAFETY: the caller's promises.
    unsafe {
        shared::give(memory, len);
        magazine::open();
    }
    if has_statistics {
        statistics::start();
    }
}

/// Memory of at least this size is aligned to at least [`LARGE_ALIGN`].
const LARGE: usize = 4 << 10;

/// A line of a GPU's cache, and two of a processor's, which may copy several times more slowly to other
/// addresses.
const LARGE_ALIGN: usize = 128;

/// The layout of memory that std asks for, with a size above 0 and an alignment that is a power of two.
///
/// # Safety
/// There is a `Layout` with this size and alignment.
unsafe fn layout(size: usize, align: usize) -> Layout {
    // SAFETY: the caller's promise.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    if size < LARGE {
        return layout;
    }
    // No memory is so large that this fails.
    layout.align_to(LARGE_ALIGN).unwrap_or(layout)
}

/// Memory for a layout, or null.
fn alloc(layout: Layout) -> *mut u8 {
    let memory = match classes::of(layout) {
        Some(class) => magazine::alloc(class),
        None => shared::alloc(layout),
    };
    if memory.is_null() && magazine::empty() {
        // The blocks that this thread has kept may together be what is missing.
        return shared::try_alloc(classes::block(layout));
    }
    memory
}

/// Frees memory.
///
/// # Safety
/// [`alloc`] returned it for this layout, and nobody uses it.
unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    // SAFETY: the caller's promises; `alloc` took the block from the same place.
    unsafe {
        match classes::of(layout) {
            Some(class) => magazine::dealloc(memory, class),
            None => shared::dealloc(layout, [memory]),
        }
    }
}

/// Resizes memory without moving it. False if that is impossible.
///
/// # Safety
/// As for [`dealloc`], except that the caller may use the memory.
unsafe fn resize(memory: *mut u8, old: Layout, new: Layout) -> bool {
    match (classes::of(old), classes::of(new)) {
        // SAFETY: the caller's promises; neither layout is that of a small block. The memory is aligned for
        // the new one, with which it is freed: `talc` finds a block by its address and size.
        (None, None) if old.align() >= new.align() => unsafe {
            shared::resize(memory, old, new.size())
        },
        (None, None) => false,
        (old, new) => old == new,
    }
}

/// Allocates memory; null if there is no room.
///
/// # Safety
/// There is a `Layout` with this size and alignment.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) unsafe fn std_alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    let memory = alloc(unsafe { layout(size, align) });
    if !memory.is_null() {
        statistics::allocated(size);
    }
    memory
}

/// Frees memory.
///
/// # Safety
/// `std_alloc` or `std_realloc` returned it for a layout with this size and alignment, and nobody uses it
/// any more.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) unsafe fn std_dealloc(memory: *mut u8, size: usize, align: usize) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(memory, layout(size, align)) };
    statistics::freed(size);
}

/// Resizes memory, or returns null and leaves it.
///
/// # Safety
/// `std_alloc` or `std_realloc` returned it for a layout with this size and alignment; with `new_size` this
/// is a layout, too. Unless this returns null, nobody uses the old address any more.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) unsafe fn std_realloc(
    memory: *mut u8,
    size: usize,
    align: usize,
    new_size: usize,
) -> *mut u8 {
    if new_size == 0 {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise: the parts of layouts.
    let (old, new) = unsafe { (layout(size, align), layout(new_size, align)) };
    // SAFETY: the caller's promise: memory of the old layout.
    let moved = if unsafe { resize(memory, old, new) } {
        memory
    } else {
        let moved = alloc(new);
        if moved.is_null() {
            return moved;
        }
        // SAFETY: both have that many bytes, and are different memory. Nobody uses the old memory
        // after this.
        unsafe {
            moved.copy_from_nonoverlapping(memory, size.min(new_size));
            dealloc(memory, old);
        }
        moved
    };
    statistics::resized(size, new_size);
    moved
}
