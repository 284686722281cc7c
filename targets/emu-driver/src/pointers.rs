//! Arguments from C callers, of functions whose error is `E`.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;

/// An error for an argument that is not valid, such as null.
pub trait InvalidArgument {
    /// The error.
    fn invalid_argument() -> Self;
}

/// A caller's variable for a result: null, or valid for a `T`. The driver's documentation requires
/// this of callers, and only they make these.
#[repr(transparent)]
pub struct Out<T, E>(*mut T, PhantomData<E>);

impl<T, E: InvalidArgument> Out<T, E> {
    /// A pointer that a caller has put into an array.
    #[must_use]
    pub fn new(to: *mut T) -> Self {
        Self(to, PhantomData)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Checks that there is one, before what it is for is made.
    ///
    /// # Errors
    /// It is null.
    pub fn check(&self) -> Result<(), E> {
        if self.is_null() {
            return Err(E::invalid_argument());
        }
        Ok(())
    }

    /// Writes it.
    ///
    /// # Errors
    /// It is null.
    pub fn set(self, value: T) -> Result<(), E> {
        if self.0.is_null() {
            return Err(E::invalid_argument());
        }
        // SAFETY: not null, so valid for a `T` by the promise of the C caller.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes it, if the caller requests it.
    pub fn set_if_wanted(self, value: T) {
        // Fails only for null.
        let _ = self.set(value);
    }

    /// Writes as many of `values` as there is room for, to a caller's array.
    ///
    /// # Errors
    /// It is null.
    pub fn set_all(self, values: impl IntoIterator<Item = T>, room: usize) -> Result<(), E> {
        if self.0.is_null() && room > 0 {
            return Err(E::invalid_argument());
        }
        for (at, value) in values.into_iter().take(room).enumerate() {
            // SAFETY: not null, so valid for `room` values by the promise of the C caller.
            unsafe { self.0.add(at).write_unaligned(value) };
        }
        Ok(())
    }
}

impl<E: InvalidArgument> Out<c_void, E> {
    /// Changes the type, which depends on another argument.
    #[must_use]
    pub fn of<T>(self) -> Out<T, E> {
        Out::new(self.0.cast())
    }
}

/// A buffer for a C string, whose size is another argument.
impl<E: InvalidArgument> Out<c_char, E> {
    /// Writes as much of `text` as fits.
    ///
    /// # Errors
    /// It is null, or has no room.
    pub fn set_text(self, text: &str, room: i32) -> Result<(), E> {
        let room = usize::try_from(room).map_err(|_| E::invalid_argument())?;
        if self.0.is_null() || room == 0 {
            return Err(E::invalid_argument());
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
pub struct In<T, E>(*const T, PhantomData<E>);

impl<T: Copy, E: InvalidArgument> In<T, E> {
    /// Whether there is none.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The value.
    ///
    /// # Errors
    /// It is null.
    pub fn get(&self) -> Result<T, E> {
        if self.0.is_null() {
            return Err(E::invalid_argument());
        }
        // SAFETY: not null, so a valid `T` by the promise of the C caller.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The first `count` values of an array.
    ///
    /// # Errors
    /// It is null.
    pub fn all(&self, count: usize) -> Result<Vec<T>, E> {
        if self.0.is_null() && count > 0 {
            return Err(E::invalid_argument());
        }
        // SAFETY: not null, so there are that many by the promise of the C caller.
        let value = |at| unsafe { self.0.add(at).read_unaligned() };
        Ok((0..count).map(value).collect())
    }
}

/// A C string: null, or valid while the function runs.
#[repr(transparent)]
pub struct Text<E>(*const c_char, PhantomData<E>);

impl<E: InvalidArgument> Text<E> {
    /// The text.
    ///
    /// # Errors
    /// It is null, or not UTF-8.
    pub fn read(&self) -> Result<&str, E> {
        if self.0.is_null() {
            return Err(E::invalid_argument());
        }
        // SAFETY: not null, so a C string by the promise of the C caller.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| E::invalid_argument())
    }
}
