//! Arguments from C callers.

use emu_driver::pointers::{self, InvalidArgument};

use crate::status::Status;

impl InvalidArgument for Status {
    fn invalid_argument() -> Self {
        Self::INVALID_ARGUMENT
    }
}

/// A caller's variable for a result.
pub type Out<T> = pointers::Out<T, Status>;

/// A caller's value or array.
pub type In<T> = pointers::In<T, Status>;

/// A C string.
pub type Text = pointers::Text<Status>;
