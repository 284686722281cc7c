//! Metrics: counts and durations, which a Unix socket serves.
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
use std::sync::Mutex;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use self::counts::Counts;
use self::layer::{SpanCounter, is_counted};
use crate::error::TelemetryError;
use crate::fork;
use crate::lock::lock;
use crate::variable::Variable;

/// The variable with the socket; empty for none.
pub(crate) const VARIABLE: Variable = Variable::new("REVOFF_METRICS");

/// Metrics, and the socket that serves them.
pub(crate) struct Metrics {
    path: PathBuf,
    counts: Counts,
    is_open: Mutex<bool>,
}

impl Metrics {
    /// Metrics for a socket of that name.
    pub(crate) fn new(path: PathBuf) -> &'static Self {
        fork::watch();
        Box::leak(Box::new(Self {
            path,
            counts: Counts::new(),
            is_open: Mutex::new(false),
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
        let mut is_open = lock(&self.is_open);
        if *is_open {
            return Ok(());
        }
        let opened = socket::open(&self.path, || self.counts.text());
        opened.map_err(|reason| TelemetryError::Create {
            variable: VARIABLE.name(),
            path: self.path.clone(),
            reason,
        })?;
        *is_open = true;
        Ok(())
    }
}

/// A layer that counts.
pub(crate) fn layer<S>(metrics: &'static Metrics) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let filter = filter_fn(is_counted).with_max_level_hint(LevelFilter::DEBUG);
    SpanCounter::new(&metrics.counts).with_filter(filter)
}
