//! A timeline and metrics of a program, from its spans and events of `tracing`:
//!
//! - `REVOFF_TRACE=FILE` writes a timeline in the
//!   [trace event format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which
//!   Perfetto and Chrome show. A second process that writes a file of the same name writes `FILE.2`, and so on.
//! - `REVOFF_METRICS=SOCKET` opens a Unix socket and answers `GET /metrics` there with counts and durations of
//!   launches, calls and copies in the [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/) text format.
//!   A second process opens `SOCKET.2`, and so on.
//!
//! `%p` in these names becomes the number of the process.
//!
//! In a timeline, a span becomes a slice of the thread that enters it, each time. A span that no thread enters becomes
//! a slice of its own, from its creation to its end. A span's field `otel.name`, by which OpenTelemetry renames spans,
//! is its name here, too. Between spans that threads enter, an arrow leads from the end of one to the begin of one that
//! [follows](tracing::Span::follows_from) it.
//!
//! A program without a subscriber of `tracing` gets one by [`install`], which host-rt calls. A program with its own
//! adds [`layer`] to it:
//!
//! ```
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let subscriber = tracing_subscriber::registry().with(revoff_telemetry::layer());
//! ```
//!
//! | file | job |
//! |---|---|
//! | `timeline` | the file |
//! | `metrics` | the socket |
//! | `variable` | the names in the environment |
//! | `at_exit`, `clock`, `file_id`, `fork`, `lock` | utilities |
//! | `error` | [`TelemetryError`] |

mod at_exit;
mod clock;
mod error;
mod file_id;
mod fork;
mod lock;
mod metrics;
mod timeline;
mod variable;

use std::sync::Mutex;

use tracing::Subscriber;
use tracing::dispatcher::has_been_set;
use tracing::subscriber::{SetGlobalDefaultError, set_global_default};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::registry::LookupSpan;

pub use self::error::TelemetryError;
use self::lock::lock;
use self::metrics::Metrics;
use self::timeline::TimelineFile;

/// The outputs that the environment names.
#[derive(Clone, Copy)]
struct Outputs {
    timeline: Option<&'static TimelineFile>,
    metrics: Option<&'static Metrics>,
}

/// The outputs of this process, if a layer writes them.
static OUTPUTS: Mutex<Option<Outputs>> = Mutex::new(None);

impl Outputs {
    /// Those that the environment names, if it names one.
    fn find() -> Option<Self> {
        let found = Self {
            timeline: timeline::VARIABLE.path().map(TimelineFile::new),
            metrics: metrics::VARIABLE.path().map(Metrics::new),
        };
        (found.timeline.is_some() || found.metrics.is_some()).then_some(found)
    }

    fn layer<S>(self) -> impl Layer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let timeline = self.timeline.map(|file| timeline::layer(file).boxed());
        let metrics = self.metrics.map(|metrics| metrics::layer(metrics).boxed());
        // A layer that is none would hide spans from the other.
        timeline.into_iter().chain(metrics).collect::<Vec<_>>()
    }

    /// Makes them the subscriber of this process.
    fn subscribe(self) -> Result<(), SetGlobalDefaultError> {
        match self {
            Self {
                timeline: Some(file),
                metrics: None,
            } => set_global_default(registry().with(timeline::only_layer(file))),
            _ => set_global_default(registry().with(self.layer())),
        }
    }

    /// Creates the file and the socket, unless that has been tried.
    fn open(self) -> Result<(), TelemetryError> {
        let timeline = self.timeline.map_or(Ok(()), TimelineFile::open);
        timeline.and(self.metrics.map_or(Ok(()), Metrics::open))
    }

    /// The error if the program has a subscriber without the layer.
    fn other_subscriber(self) -> TelemetryError {
        let timeline = self.timeline.map(|file| (&timeline::VARIABLE, file.path()));
        let metrics = self
            .metrics
            .map(|metrics| (&metrics::VARIABLE, metrics.path()));
        let (variable, path) = timeline.or(metrics).expect("one of them was found");
        TelemetryError::OtherSubscriber {
            variable: variable.name(),
            path: path.to_owned(),
        }
    }
}

/// A layer for the outputs that the environment names, if it does. The timeline's file is created with its first record,
/// the socket of metrics by [`install`].
pub fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let mut known = lock(&OUTPUTS);
    if known.is_none() {
        *known = Outputs::find();
    }
    known.map(Outputs::layer)
}

/// Creates the file and the socket that the environment names, if it does, and installs a subscriber that writes to
/// them, unless the program has made the [`layer`].
///
/// # Errors
/// One of them cannot be created, or the program has a subscriber without the layer.
pub fn install() -> Result<(), TelemetryError> {
    let mut known = lock(&OUTPUTS);
    if let Some(outputs) = *known {
        return outputs.open();
    }
    let Some(new) = Outputs::find() else {
        return Ok(());
    };
    if has_been_set() || new.subscribe().is_err() {
        return Err(new.other_subscriber());
    }
    *known = Some(new);
    new.open()
}

/// Completes the timeline, and removes the socket of metrics. A process that exits does so by itself; call this before
/// `_exit`.
pub fn end() {
    at_exit::run_now();
}
