//! Random numbers for the crate `getrandom`, which asks for them apart from std.

use core::num::NonZeroI32;
use core::slice;

use std_calls::std_random;

use crate::calls::FAILED;

/// The function that `getrandom` 0.3 and 0.4 call on systems that they do not know, if the program is compiled with
/// `--cfg getrandom_backend="custom"`. Its own error is a `NonZeroI32` as well (0.3: the same bits without
/// a sign), in which an error of the system is negative.
///
/// # Safety
/// `bytes` may be written from `to` on.
#[unsafe(no_mangle)]
unsafe fn __getrandom_v03_custom(to: *mut u8, bytes: usize) -> Result<(), NonZeroI32> {
    // SAFETY: the caller's promise. The caller may not have initialised it, which a slice requires.
    let to = unsafe {
        to.write_bytes(0, bytes);
        slice::from_raw_parts_mut(to, bytes)
    };
    let status = std_random(to).unwrap_or(FAILED);
    NonZeroI32::new(status.min(0) as i32).map_or(Ok(()), Err)
}
