//! Which spans are shown.

use std::cell::Cell;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};

use super::file::TimelineFile;
use super::thread::skip;
use crate::clock::last_tick;

/// The time in which a thread shows at most [`MAX_PER_WINDOW`] calls and copies, in nanoseconds: a record takes longer
/// than the shortest of them.
const WINDOW: u64 = 16_000_000;

/// See [`WINDOW`].
const MAX_PER_WINDOW: u32 = 512;

/// The most verbose level that is shown.
const LEVEL: LevelFilter = LevelFilter::DEBUG;

/// Shows spans up to a level, and not too many calls and copies.
pub(crate) struct SpanFilter(&'static TimelineFile);

thread_local! {
    /// The number of this thread's last window, and the spans that were shown in it.
    static WINDOWS: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

impl SpanFilter {
    pub(crate) fn new(file: &'static TimelineFile) -> Self {
        Self(file)
    }

    /// Whether a span or event is shown now.
    fn shows(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= LEVEL && (!is_frequent(metadata) || self.has_room())
    }

    /// Whether this thread shows another span now.
    fn has_room(&self) -> bool {
        let window = last_tick() / WINDOW;
        let shown = match WINDOWS.get() {
            (last, shown) if last == window => shown,
            _ => 0,
        };
        let has_room = shown < MAX_PER_WINDOW;
        if has_room {
            WINDOWS.set((window, shown + 1));
        } else {
            skip(self.0);
        }
        has_room
    }
}

/// Whether there may be too many of these spans.
fn is_frequent(metadata: &Metadata<'_>) -> bool {
    let is_ours = metadata.target().starts_with("revoff_host::");
    metadata.is_span() && is_ours && matches!(metadata.name(), "call" | "copy")
}

/// Whether spans like this are shown.
fn interest(metadata: &Metadata<'_>) -> Interest {
    match *metadata.level() <= LEVEL {
        false => Interest::never(),
        true if is_frequent(metadata) => Interest::sometimes(),
        true => Interest::always(),
    }
}

/// For the timeline alone, among layers that show more.
impl<S> Filter<S> for SpanFilter {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        self.shows(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LEVEL)
    }
}

/// For a subscriber whose only layer is the timeline: it then does not even create the spans that are skipped.
impl<S: Subscriber> Layer<S> for SpanFilter {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.shows(metadata)
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LEVEL)
    }
}
