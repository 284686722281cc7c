//! Messages of errors with their sources.

use std::error::Error;
use std::fmt;

/// The message of an error and those of its sources, separated by colons: an error's `Display` omits
/// its [`source`](Error::source).
#[derive(Clone, Copy, Debug)]
pub struct Chain<'e>(pub &'e (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
