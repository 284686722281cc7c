//! Formatting of errors.

use std::error::Error;
use std::fmt;
use std::iter::successors;

/// Displays an error and its sources, separated by colons: an error's own `Display` omits its
/// [`source`](Error::source).
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        successors(self.0.source(), |&error| error.source())
            .try_for_each(|source| write!(f, ": {source}"))
    }
}

/// Implements `Debug` as `Display`: `fn main() -> Result` and `unwrap` print `Debug`, and their
/// readers need the remedy too.
macro_rules! debug_as_display {
    ($($error:ty)*) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
pub(crate) use debug_as_display;
