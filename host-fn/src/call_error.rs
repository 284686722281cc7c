//! The error of a call in device code.

use core::fmt;

use shared_abi::status::Status;

/// The host sent no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError(Status);

impl CallError {
    pub(crate) const fn new(status: Status) -> Self {
        CallError(status)
    }

    /// How the call ended. [`Status::NONE`] if the device runtime reports no status, as GCC's own
    /// does.
    #[must_use]
    pub const fn status(self) -> Status {
        self.0
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Status::DONE {
            // The function registered under the name is not a typed one.
            f.write_str("the host function ran and sent no result")
        } else {
            write!(f, "call to the host failed: {}", self.0)
        }
    }
}

impl core::error::Error for CallError {}
