//! Metrics: counts and durations, which a Unix socket tells.
//!
//! | file | job |
//! |---|---|
//! | `layer` | spans, as `tracing` reports them |
//! | `counts` | the metrics |
//! | `thread` | the metrics of a serving thread |
//! | `socket` | the socket |

mod counts;
mod layer;
mod socket;
#[cfg(test)]
mod tests;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use self::counts::Counts;
use self::layer::{CountSpans, is_counted};
use self::socket::Socket;
use crate::error::TelemetryError;
use crate::variable::Variable;

/// The variable with the socket; empty for none.
pub(crate) const VARIABLE: Variable = Variable::new("REVOFF_METRICS");

/// Metrics, and the socket that tells them.
pub(crate) struct Metrics {
    path: PathBuf,
    counts: Counts,
    socket: OnceLock<Socket>,
}

impl Metrics {
    /// Metrics for a socket of that name.
    pub(crate) fn new(path: PathBuf) -> &'static Self {
        Box::leak(Box::new(Self {
            path,
            counts: Counts::new(),
            socket: OnceLock::new(),
        }))
    }

    /// The socket's name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the socket, unless it is open.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn open(&'static self) -> Result<(), TelemetryError> {
        if self.socket.get().is_some() {
            return Ok(());
        }
        let socket = Socket::open(&self.path, || self.counts.text());
        let socket = socket.map_err(|reason| TelemetryError::Create {
            variable: VARIABLE.name(),
            path: self.path.clone(),
            reason,
        })?;
        // `install` calls this under its lock: nobody else has set it.
        let _ = self.socket.set(socket);
        Ok(())
    }
}

/// A layer that counts.
pub(crate) fn layer<S>(metrics: &'static Metrics) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    CountSpans::new(&metrics.counts).with_filter(filter_fn(is_counted))
}
