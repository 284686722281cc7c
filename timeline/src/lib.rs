//! A timeline of the program: `REVOFF_TRACE=FILE` writes the spans and events of `tracing` to a file in the
//! [trace event format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which
//! Perfetto and Chrome show. `%p` in the name of the file becomes the number of the process; a second process that
//! writes a file of the same name writes `FILE.2`, and so on.
//!
//! A span becomes a slice of the thread that enters it, each time. A span that no thread enters becomes a slice of its
//! own, from its creation to its end. A span's field `otel.name`, by which OpenTelemetry renames spans, is its name
//! here, too. Between spans that threads enter, an arrow leads from the end of one to the begin of one that
//! [follows](tracing::Span::follows_from) it.
//!
//! A program without a subscriber of `tracing` gets one by [`install`], which host-rt calls. A program with its own
//! adds [`layer`] to it:
//!
//! ```
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let subscriber = tracing_subscriber::registry().with(revoff_timeline::layer());
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
//! | `clock`, `lock` | utilities |
//! | `error` | [`TimelineError`] |

mod clock;
mod error;
mod file;
mod filter;
mod layer;
mod lock;
mod record;
mod records;
#[cfg(test)]
mod tests;
mod thread;

use std::env;
use std::sync::Mutex;

use tracing::Subscriber;
use tracing::dispatcher::has_been_set;
use tracing::subscriber::set_global_default;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::registry::LookupSpan;

pub use self::error::TimelineError;
use self::file::TimelineFile;
use self::filter::SpanFilter;
use self::layer::Timeline;
use self::lock::lock;

/// The variable with the file; empty for no timeline.
const TRACE: &str = "REVOFF_TRACE";

/// The file of this process, if a layer writes it.
static FILE: Mutex<Option<&'static TimelineFile>> = Mutex::new(None);

/// The file in `known`, or one that the environment names, which is `known` then.
fn find_file(known: &mut Option<&'static TimelineFile>) -> Option<&'static TimelineFile> {
    if known.is_none() {
        let name = env::var_os(TRACE).filter(|name| !name.is_empty())?;
        *known = Some(TimelineFile::new(&name));
    }
    *known
}

/// A layer that writes the timeline, if the environment names a file. The file is created with its first record.
pub fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    find_file(&mut lock(&FILE)).map(layer_of)
}

fn layer_of<S>(file: &'static TimelineFile) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Timeline::new(file).with_filter(SpanFilter::new(file))
}

/// Creates the file that the environment names, if it does, and installs a subscriber that writes it, unless the
/// program has made the [`layer`].
///
/// # Errors
/// The file cannot be created, or the program has a subscriber without the layer.
pub fn install() -> Result<(), TimelineError> {
    let mut known = lock(&FILE);
    if let Some(file) = *known {
        return file.open();
    }
    let Some(new) = find_file(&mut known) else {
        return Ok(());
    };
    let installed = match has_been_set() {
        true => Err(()),
        false => set_global_default(registry().with(layer_of(new))).map_err(drop),
    };
    if installed.is_err() {
        *known = None;
        return Err(TimelineError::OtherSubscriber {
            path: new.path().to_owned(),
        });
    }
    new.open()
}
