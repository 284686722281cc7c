//! Formatting of errors.

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
