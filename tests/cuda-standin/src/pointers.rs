//! What C callers pass.

use std::ffi::{CStr, c_char, c_void};

use crate::code::{Answer, Code};

/// Where a caller wants something written: null, or good for a `T`. That is what the
/// driver's documentation asks of callers, and only they make these.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes it.
    pub(crate) fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so good for a `T` by the promise of the C caller.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes it, where it is wanted.
    pub(crate) fn set_if_wanted(self, value: T) {
        // Fails for null alone.
        let _ = self.set(value);
    }
}

impl Out<c_void> {
    /// What is written depends on another argument.
    pub(crate) fn of<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

/// Room for a C string; the number of bytes is another argument.
impl Out<c_char> {
    /// Writes as much of `text` as there is room for.
    pub(crate) fn set_text(self, text: &str, room: i32) -> Answer {
        let room = usize::try_from(room).map_err(|_| Code::INVALID_VALUE)?;
        if self.0.is_null() || room == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let len = text.len().min(room - 1);
        // SAFETY: not null, so good for `room` bytes by the promise of the C caller.
        unsafe {
            self.0
                .cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), len);
            self.0.add(len).write(0);
        }
        Ok(())
    }
}

/// A C string: null, or one that stays while the function runs.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// What it says.
    pub(crate) fn read(&self) -> Answer<&str> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so a C string by the promise of the C caller.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Code::INVALID_VALUE)
    }
}
