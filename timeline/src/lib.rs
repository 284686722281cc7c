//! A timeline of the program: `REVOFF_TRACE=FILE` writes the spans and events of `tracing` to a file in the
//! [trace event format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which
//! Perfetto and Chrome show. `%p` in the name of the file becomes the number of the process; a second process that
//! writes a file of the same name writes `FILE.2`, and so on.
//!
//! A span becomes a slice of the thread that enters it, each time. A span that no thread enters becomes a slice of its
//! own, from its creation to its end. A span's field `otel.name`, by which OpenTelemetry renames spans, is its name
//! here, too. A span that [follows](tracing::Span::follows_from) another has an arrow from the other's end to its begin.
//!
//! A program without a subscriber of `tracing` gets one by [`install`], which host-rt calls. A program with its own
//! adds [`layer`] to it:
//!
//! ```
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let subscriber = tracing_subscriber::registry().with(revoff_timeline::layer()?);
//! # Ok::<(), revoff_timeline::TimelineError>(())
//! ```
//!
//! | file | job |
//! |---|---|
//! | `layer` | spans and events, as `tracing` reports them |
//! | `filter` | which of them are shown |
//! | `record` | the format of a record |
//! | `thread` | the records of the thread, and the spans that it has entered |
//! | `records` | the records of a thread until they are written |
//! | `file` | the file |
//! | `error` | [`TimelineError`] |

mod error;
mod file;
mod filter;
mod layer;
mod record;
mod records;
#[cfg(test)]
mod tests;
mod thread;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::Subscriber;
use tracing::dispatcher::has_been_set;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

pub use self::error::TimelineError;
use self::file::TimelineFile;
use self::filter::Thinned;
use self::layer::Timeline;

/// The variable with the file; empty for no timeline.
const TRACE: &str = "REVOFF_TRACE";

/// The file of this process.
static FILE: Mutex<Option<&'static TimelineFile>> = Mutex::new(None);

fn lock_file() -> MutexGuard<'static, Option<&'static TimelineFile>> {
    FILE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of the file, if there shall be one.
fn name() -> Option<OsString> {
    env::var_os(TRACE).filter(|name| !name.is_empty())
}

/// A layer that writes the timeline, if the environment names a file.
///
/// # Errors
/// The file cannot be created.
pub fn layer<S>() -> Result<Option<impl Layer<S>>, TimelineError>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let Some(name) = name() else { return Ok(None) };
    let mut file = lock_file();
    if file.is_none() {
        *file = Some(TimelineFile::create(&name)?);
    }
    Ok(file.map(layer_of))
}

fn layer_of<S>(file: &'static TimelineFile) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Timeline::new(file).with_filter(Thinned::new(file))
}

/// Installs a subscriber that writes the timeline, if the environment names a file, unless the program has made the
/// [`layer`].
///
/// # Errors
/// The file cannot be created, or the program has a subscriber without the layer.
pub fn install() -> Result<(), TimelineError> {
    let Some(name) = name() else { return Ok(()) };
    let mut file = lock_file();
    if file.is_some() {
        return Ok(());
    }
    let other = || TimelineError::OtherSubscriber {
        path: PathBuf::from(&name),
    };
    if has_been_set() {
        return Err(other());
    }
    let created = TimelineFile::create(&name)?;
    *file = Some(created);
    registry()
        .with(layer_of(created))
        .try_init()
        .map_err(|_| other())
}
