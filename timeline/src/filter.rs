//! Which spans are shown.

use std::cell::Cell;

use rustix::time::{ClockId, clock_gettime};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Filter};

use crate::file::TimelineFile;
use crate::thread::add_skipped;

/// The crate whose spans of all levels are shown; of others, those of levels up to `DEBUG`.
const OURS: &str = "host_rt";

/// The time in which a thread shows at most [`MOST`] spans of the level `TRACE`, in nanoseconds: a record takes longer than
/// the shortest calls, and nobody looks at a million of them.
const WINDOW: u64 = 16_000_000;

/// See [`WINDOW`].
const MOST: u32 = 512;

/// Shows spans by level, and not too many.
pub(crate) struct Thinned {
    file: &'static TimelineFile,
    targets: Targets,
}

/// A thread's spans of the level `TRACE`.
#[derive(Clone, Copy)]
struct Window {
    /// Its number.
    number: u64,
    shown: u32,
    skipped: u64,
}

thread_local! {
    static WINDOWS: Cell<Window> = const {
        Cell::new(Window {
            number: 0,
            shown: 0,
            skipped: 0,
        })
    };
}

impl Thinned {
    pub(crate) fn new(file: &'static TimelineFile) -> Self {
        let targets = Targets::new().with_default(LevelFilter::DEBUG);
        Self {
            file,
            targets: targets.with_target(OURS, LevelFilter::TRACE),
        }
    }

    fn may_show(&self, metadata: &Metadata<'_>) -> bool {
        self.targets
            .would_enable(metadata.target(), metadata.level())
    }

    /// Whether this thread shows another span now.
    fn has_room(&self) -> bool {
        // By a clock that is read faster, and has the resolution of the system's tick.
        let now = clock_gettime(ClockId::MonotonicCoarse);
        let now = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        let mut window = WINDOWS.get();
        if window.number != now / WINDOW {
            if window.skipped > 0 {
                add_skipped(self.file, window.skipped);
            }
            window = Window {
                number: now / WINDOW,
                shown: 0,
                skipped: 0,
            };
        }
        let has_room = window.shown < MOST;
        if has_room {
            window.shown += 1;
        } else {
            window.skipped += 1;
        }
        WINDOWS.set(window);
        has_room
    }
}

fn is_thinned(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && *metadata.level() == Level::TRACE
}

impl<S> Filter<S> for Thinned {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        self.may_show(metadata) && (!is_thinned(metadata) || self.has_room())
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match self.may_show(metadata) {
            false => Interest::never(),
            true if is_thinned(metadata) => Interest::sometimes(),
            true => Interest::always(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }
}
