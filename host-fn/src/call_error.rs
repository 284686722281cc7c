//! What device code gets instead of a result.

use core::fmt;

use shared_abi::status::Status;

/// The host sent no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError(Status);

impl CallError {
    pub(crate) const fn new(status: Status) -> Self {
        CallError(status)
    }

    /// How the call ended. [`Status::NONE`] where nothing was reported: the
    /// device runtime is GCC's own, which reports no status.
    #[must_use]
    pub const fn status(self) -> Status {
        self.0
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Status::DONE {
            // What is registered under the name is no typed function.
            f.write_str("the host function ran and sent no result")
        } else {
            write!(f, "call to the host failed: {}", self.0)
        }
    }
}

impl core::error::Error for CallError {}
