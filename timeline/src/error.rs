//! [`TimelineError`].

use std::io;
use std::path::PathBuf;

use crate::TRACE;

/// The timeline cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimelineError {
    /// The file of the environment cannot be created.
    #[error("environment variable {TRACE}={path:?}: the file cannot be created ({reason})")]
    Create {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The program has a subscriber of its own, without the layer.
    #[error(
        "environment variable {TRACE}={path:?}: the program has a subscriber of `tracing` of its own; add \
         `host_rt::timeline::layer()` to it, or unset the variable"
    )]
    OtherSubscriber {
        /// The file.
        path: PathBuf,
    },
}
