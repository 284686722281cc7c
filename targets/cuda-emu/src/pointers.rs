//! Arguments from C callers.

use emu_driver::pointers::{self, InvalidArgument};

use crate::code::Code;

impl InvalidArgument for Code {
    fn invalid_argument() -> Self {
        Self::INVALID_VALUE
    }
}

/// A caller's variable for a result.
pub type Out<T> = pointers::Out<T, Code>;

/// A caller's value or array.
pub type In<T> = pointers::In<T, Code>;

/// A C string.
pub type Text = pointers::Text<Code>;
