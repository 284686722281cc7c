//! Errors of fatbins.

/// The reason why bytes are not a fatbin, or an entry cannot be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {reason}")]
pub struct ReadError {
    /// The offset in the file, in bytes.
    pub offset: usize,
    /// The error.
    pub reason: String,
}

impl ReadError {
    pub(super) fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self {
            offset,
            reason: reason.into(),
        }
    }

    /// The error in a file in which `at` bytes come before.
    pub(super) fn after(self, at: usize) -> Self {
        Self {
            offset: self.offset.saturating_add(at),
            ..self
        }
    }
}
