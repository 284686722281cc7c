//! Messages of the driver's compiler and linker.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;

use cudarc::driver::sys::CUjit_option::{self, *};

/// Bytes of the log.
const SIZE: usize = 16 << 10;

/// A log that the driver writes to while this lives and is not moved.
pub(super) struct JitLog {
    /// Cells, since the driver keeps a pointer to them while we read.
    text: Box<[UnsafeCell<u8>; SIZE]>,
    options: [CUjit_option; 2],
    values: [*mut c_void; 2],
}

impl JitLog {
    /// An empty log.
    pub(super) fn new() -> Self {
        Self {
            options: [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
            values: [null_mut(); 2],
            text: Box::new([const { UnsafeCell::new(0) }; SIZE]),
        }
    }

    /// The options that make the driver write to the log: their number, keys and values.
    pub(super) fn options(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        // The driver takes a number in place of a pointer.
        self.values = [self.text.as_ptr().cast_mut().cast(), SIZE as *mut c_void];
        (
            self.options.len() as u32,
            self.options.as_mut_ptr(),
            self.values.as_mut_ptr(),
        )
    }

    /// The logged text.
    pub(super) fn text(&self) -> String {
        // SAFETY: the driver writes only while one of its functions runs, and none does.
        let bytes = self.text.iter().map(|cell| unsafe { *cell.get() });
        let text: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&text).trim().to_owned()
    }
}
