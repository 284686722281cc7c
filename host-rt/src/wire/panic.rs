//! Consumer of [`PanicRecord`](shared_abi::image::PanicRecord), the location of a panic.

use core::mem::offset_of;

use shared_abi::image::{PANIC_FILE, PANIC_RECORDED, PanicRecord as Layout};
use shared_abi::words::{Load, SystemWords};

/// The location of the first panic, as `file:line:column`; `None` if there was no panic.
#[must_use]
pub fn place(words: &impl SystemWords) -> Option<String> {
    // Edge `P1`, host end: the location precedes the state.
    if words.load32(offset_of!(Layout, state), Load::Acquire) != PANIC_RECORDED {
        return None;
    }
    // Relaxed: P1 orders these.
    let word = |at| words.load32(at, Load::Relaxed);
    let line = word(offset_of!(Layout, line));
    let column = word(offset_of!(Layout, column));
    // The device may have written any number.
    let len = PANIC_FILE.min(word(offset_of!(Layout, file_len)) as usize);
    let byte = |at| words.load8(offset_of!(Layout, file) + at);
    let file: Vec<u8> = (0..len).map(byte).collect();
    let file = String::from_utf8_lossy(&file);
    Some(format!("{}:{line}:{column}", file.escape_debug()))
}
