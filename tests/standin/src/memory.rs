//! Memory that nobody has written.

/// What it holds: anything but zeros.
const DIRT: u8 = 0xa5;

/// How much of it holds that: the rest is as it was allocated.
const DIRTY: usize = 1 << 20;

/// Sees to it that whoever takes new memory for zeros is found out.
///
/// # Safety
/// There are so many bytes, which are nobody else's.
pub unsafe fn soil(memory: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { memory.write_bytes(DIRT, size.min(DIRTY)) };
}
