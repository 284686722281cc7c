//! Arguments from C callers.

use std::ffi::{CStr, c_char, c_void};

use crate::code::{Answer, Code};

/// A caller's variable for a result: null, or valid for a `T`. The driver's documentation requires
/// this of callers, and only they make these.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A pointer that a caller has put into an array.
    pub(crate) fn new(to: *mut T) -> Self {
        Self(to)
    }

    /// Whether there is none.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes it.
    pub(crate) fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid for a `T` by the promise of the C caller.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes it, if the caller requests it.
    pub(crate) fn set_if_wanted(self, value: T) {
        // Fails only for null.
        let _ = self.set(value);
    }

    /// Writes as many of `values` as there is room for, to a caller's array.
    pub(crate) fn set_all(self, values: impl IntoIterator<Item = T>, room: usize) -> Answer {
        if self.0.is_null() && room > 0 {
            return Err(Code::INVALID_VALUE);
        }
        for (at, value) in values.into_iter().take(room).enumerate() {
            // SAFETY: not null, so valid for `room` values by the promise of the C caller.
            unsafe { self.0.add(at).write_unaligned(value) };
        }
        Ok(())
    }
}

impl Out<c_void> {
    /// Changes the type, which depends on another argument.
    pub(crate) fn of<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

/// A buffer for a C string, whose size is another argument.
impl Out<c_char> {
    /// Writes as much of `text` as fits.
    pub(crate) fn set_text(self, text: &str, room: i32) -> Answer {
        let room = usize::try_from(room).map_err(|_| Code::INVALID_VALUE)?;
        if self.0.is_null() || room == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let len = text.len().min(room - 1);
        // SAFETY: not null, so valid for `room` bytes by the promise of the C caller.
        unsafe {
            self.0
                .cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), len);
            self.0.add(len).write(0);
        }
        Ok(())
    }
}

/// A caller's value or array: null, or valid while the function runs, as the driver's documentation
/// requires.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The value.
    pub(crate) fn get(&self) -> Answer<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so a valid `T` by the promise of the C caller.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The first `count` values of an array.
    pub(crate) fn all(&self, count: usize) -> Answer<Vec<T>> {
        if self.0.is_null() && count > 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so there are that many by the promise of the C caller.
        let value = |at| unsafe { self.0.add(at).read_unaligned() };
        Ok((0..count).map(value).collect())
    }
}

/// A C string: null, or valid while the function runs.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// The text.
    pub(crate) fn read(&self) -> Answer<&str> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so a C string by the promise of the C caller.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Code::INVALID_VALUE)
    }
}
