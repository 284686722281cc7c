//! [`TelemetryError`].

use std::io;
use std::path::PathBuf;

/// An output that the environment names cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The file or socket of a variable cannot be created.
    #[error(
        "environment variable {variable}={path:?}: it cannot be created ({reason}): name another, or unset the variable"
    )]
    Create {
        /// The variable.
        variable: &'static str,
        /// The file or socket.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The program has a subscriber of its own, without the layer.
    #[error(
        "environment variable {variable}={path:?}: the program has a subscriber of `tracing` of its own; add \
         `revoff::telemetry::layer()` to it, or unset the variable"
    )]
    OtherSubscriber {
        /// The variable.
        variable: &'static str,
        /// The file or socket.
        path: PathBuf,
    },
}
