//! Errors of the command itself.

use revoff_host::LaunchError;
use revoff_host::targets::count::Names;

/// The failure of a launch that called a function which no library exports.
#[derive(Debug, thiserror::Error)]
#[error(
    "{launch}; name libraries that export all functions of the image (--functions LIBRARY): {}",
    Names(missing)
)]
pub(crate) struct MissingFunction {
    /// The failure, which the message includes.
    pub(crate) launch: LaunchError,
    /// The image's functions that no library exports.
    pub(crate) missing: Vec<String>,
}
