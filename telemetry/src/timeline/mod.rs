//! The timeline: a file that Perfetto and Chrome show.
//!
//! | file | job |
//! |---|---|
//! | `layer` | spans and events, as `tracing` reports them |
//! | `filter` | which of them are shown |
//! | `record` | the format of a record |
//! | `thread` | the records of the thread, and the spans that it has entered |
//! | `records` | the records of a thread until they are written |
//! | `file` | the file |

mod file;
mod filter;
mod layer;
mod record;
mod records;
#[cfg(test)]
mod tests;
mod thread;

use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

pub(crate) use self::file::{TimelineFile, VARIABLE};
use self::filter::SpanFilter;
use self::layer::Timeline;

/// A layer that writes to a file.
pub(crate) fn layer<S>(file: &'static TimelineFile) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Timeline::new(file).with_filter(SpanFilter::new(file))
}

/// The same, for a subscriber without another layer.
pub(crate) fn only_layer<S>(file: &'static TimelineFile) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Timeline::new(file).and_then(SpanFilter::new(file))
}
