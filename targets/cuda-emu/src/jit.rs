//! The log that compiler and linker write, into the caller's memory.

use std::ffi::c_void;

use cudarc::driver::sys::CUjit_option;

const BUFFER: u32 = CUjit_option::CU_JIT_ERROR_LOG_BUFFER as u32;
const SIZE: u32 = CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as u32;

/// The buffer for errors, or null.
pub(crate) struct Log {
    buffer: *mut u8,
    /// Its size.
    size: usize,
    /// The caller's variable for the used part.
    used: *mut *mut c_void,
}

// SAFETY: the caller leaves the memory to the driver, on any thread, until it is done with the
// linker or the function has returned.
unsafe impl Send for Log {}

impl Log {
    /// No log.
    pub(crate) fn none() -> Self {
        Self {
            buffer: std::ptr::null_mut(),
            size: 0,
            used: std::ptr::null_mut(),
        }
    }

    /// Reads the options of a call.
    ///
    /// # Safety
    /// There are `count` options and values. A buffer among the values has the given size; it and
    /// the values stay until the last call of `write`.
    pub(crate) unsafe fn of(count: u32, options: *const u32, values: *mut *mut c_void) -> Self {
        let mut log = Self::none();
        if options.is_null() || values.is_null() {
            return log;
        }
        for i in 0..count as usize {
            // SAFETY: there are that many, by the promise of the caller.
            let (option, place) = unsafe { (options.add(i).read(), values.add(i)) };
            // SAFETY: `values` has `count` elements, by the caller's promise.
            let value = unsafe { place.read() };
            match option {
                BUFFER => log.buffer = value.cast(),
                // A number in place of a pointer, as the driver requires.
                SIZE => (log.size, log.used) = (value.addr(), place),
                _ => {}
            }
        }
        log
    }

    /// Writes as much of `text` as fits, as a C string.
    pub(crate) fn write(&self, text: &str) {
        if self.buffer.is_null() || self.size == 0 {
            return;
        }
        let len = text.len().min(self.size - 1);
        // SAFETY: the buffer has `size` bytes, and stays, by the promise of `of`'s caller; so does
        // the variable for the number.
        unsafe {
            self.buffer.copy_from_nonoverlapping(text.as_ptr(), len);
            self.buffer.add(len).write(0);
            self.used.write(std::ptr::without_provenance_mut(len + 1));
        }
    }
}
