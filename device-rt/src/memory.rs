//! Functions of C's library that LLVM calls. The compiler's own versions take no part in the
//! optimisation of the whole program, and a GPU has no linker that would add them afterwards.

use core::ffi::c_int;

/// Compares bytes: below 0, 0 or above 0, like the first two that differ.
///
/// # Safety
/// `len` bytes can be read at both.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, len: usize) -> c_int {
    let mut at = 0;
    // Eight at a time as long as they are equal, if both allow it.
    if (left.addr() | right.addr()).is_multiple_of(8) {
        while at + 8 <= len {
            // SAFETY: aligned, and within `len`.
            let (left, right) = unsafe {
                (
                    left.add(at).cast::<u64>().read(),
                    right.add(at).cast::<u64>().read(),
                )
            };
            if left != right {
                break;
            }
            at += 8;
        }
    }
    while at < len {
        // SAFETY: within `len`. LLVM makes no call of this function of a loop whose result is a
        // difference.
        let (left, right) = unsafe { (left.add(at).read(), right.add(at).read()) };
        if left != right {
            return c_int::from(left) - c_int::from(right);
        }
        at += 1;
    }
    0
}

/// As `memcmp`, without the order.
///
/// # Safety
/// As for `memcmp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, len: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { memcmp(left, right, len) }
}
