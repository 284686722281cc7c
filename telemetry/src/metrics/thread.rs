//! The metrics of a serving thread.

use std::cell::RefCell;
use std::thread;
use std::time::Instant;

use rustix::thread::gettid;

use super::counts::{Counts, ThreadCounts, ThreadLabels};
use crate::fork::is_child;

/// A thread that has served a call. Its metrics end with it.
struct Thread {
    all: &'static Counts,
    labels: ThreadLabels,
    counts: ThreadCounts,
    /// When it started the calls that it is serving: a host function may launch kernels and serve their calls.
    started: Vec<Instant>,
}

thread_local! {
    static THREAD: RefCell<Option<Thread>> = const { RefCell::new(None) };
}

impl Thread {
    fn new(all: &'static Counts) -> Self {
        let id = gettid().as_raw_nonzero().get().cast_unsigned().into();
        let thread = thread::current().name().unwrap_or_default().to_owned();
        let labels = ThreadLabels { thread, id };
        Self {
            all,
            counts: all.add_thread(&labels),
            labels,
            started: Vec::new(),
        }
    }

    fn begin(&mut self) {
        self.started.push(Instant::now());
        self.counts.serving.set(1);
    }

    fn end(&mut self, now: Instant) {
        let Some(started) = self.started.pop() else {
            return;
        };
        self.counts.calls.inc();
        if self.started.is_empty() {
            self.counts.busy.inc_by((now - started).as_secs_f64());
            self.counts.serving.set(0);
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if !is_child() {
            self.all.remove_thread(&self.labels);
        }
    }
}

/// Calls `act` with this thread, unless it is ending.
fn with_thread(counts: &'static Counts, act: impl FnOnce(&mut Thread)) {
    // Calls in destructors of this thread's variables are not counted.
    let _ = THREAD.try_with(|thread| {
        if let Ok(mut thread) = thread.try_borrow_mut() {
            act(thread.get_or_insert_with(|| Thread::new(counts)));
        }
    });
}

/// Notes that this thread begins to serve a call.
pub(super) fn begin(counts: &'static Counts) {
    with_thread(counts, Thread::begin);
}

/// Notes that this thread has served the call that it began last.
pub(super) fn end(counts: &'static Counts, now: Instant) {
    with_thread(counts, |thread| thread.end(now));
}
