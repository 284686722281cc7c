//! The contents of new memory.

/// The byte that fills new memory, so that it is not zero.
const DIRT: u8 = 0xa5;

/// The maximum part that is filled; the rest is unchanged.
const DIRTY: usize = 1 << 20;

/// Fills new memory, so that code which expects zeros fails.
///
/// # Safety
/// There are `size` bytes, which are not shared.
pub unsafe fn soil(memory: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { memory.write_bytes(DIRT, size.min(DIRTY)) };
}
