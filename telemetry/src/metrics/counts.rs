//! The metrics. Their names and labels are a format that others read: docs/metrics.md lists them.

use std::env;
use std::process;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::lock::lock;

/// A host function on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct FunctionLabels {
    pub(super) device: String,
    pub(super) function: String,
}

/// A kernel on a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct KernelLabels {
    pub(super) device: String,
    pub(super) kernel: String,
}

/// The direction of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CopyLabels {
    pub(super) direction: String,
}

/// A thread: its name and the system's number of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ThreadLabels {
    pub(super) thread: String,
    pub(super) id: u64,
}

/// The metrics of the calls of a function.
#[derive(Clone)]
pub(super) struct Calls {
    pub(super) durations: Histogram,
    pub(super) running: Gauge,
}

/// The metrics of a thread.
pub(super) struct ThreadCounts {
    pub(super) calls: Counter,
    /// The time in calls that have ended.
    pub(super) busy: Counter<f64, AtomicU64>,
    pub(super) serving: Gauge,
}

/// All metrics.
pub(super) struct Counts {
    registry: Mutex<Registry>,
    calls: Family<FunctionLabels, Histogram, fn() -> Histogram>,
    calls_running: Family<FunctionLabels, Gauge>,
    pub(super) launches: Family<KernelLabels, Counter>,
    pub(super) launches_running: Family<KernelLabels, Gauge>,
    pub(super) copies: Family<CopyLabels, Counter>,
    pub(super) copied_bytes: Family<CopyLabels, Counter>,
    thread_calls: Family<ThreadLabels, Counter>,
    thread_busy: Family<ThreadLabels, Counter<f64, AtomicU64>>,
    thread_serving: Family<ThreadLabels, Gauge>,
}

/// Upper bounds from 1 us to 8 s.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(1e-6, 2.0, 24))
}

impl Counts {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("revoff");
        let program = env::args_os().next().unwrap_or_default();
        let process = Info::new([
            ("program", program.to_string_lossy().into_owned()),
            ("process", process::id().to_string()),
        ]);
        registry.register("process", "The process", process);
        let calls = Family::new_with_constructor(durations as fn() -> Histogram);
        registry.register_with_unit("call", "Durations of calls", Unit::Seconds, calls.clone());
        let new = Self {
            calls,
            calls_running: Family::default(),
            launches: Family::default(),
            launches_running: Family::default(),
            copies: Family::default(),
            copied_bytes: Family::default(),
            thread_calls: Family::default(),
            thread_busy: Family::default(),
            thread_serving: Family::default(),
            registry: Mutex::default(),
        };
        let running = new.calls_running.clone();
        registry.register("calls_running", "Calls that have not ended", running);
        registry.register("launches", "Launches", new.launches.clone());
        let running = new.launches_running.clone();
        registry.register("launches_running", "Launches that have not ended", running);
        registry.register("copies", "Copies of queues", new.copies.clone());
        let bytes = new.copied_bytes.clone();
        registry.register_with_unit("copied", "Bytes of these copies", Unit::Bytes, bytes);
        let calls = new.thread_calls.clone();
        registry.register("thread_calls", "Calls that a thread has served", calls);
        let busy = new.thread_busy.clone();
        registry.register_with_unit("thread_busy", "Time of these calls", Unit::Seconds, busy);
        let serving = new.thread_serving.clone();
        registry.register("thread_serving", "1 if a thread is serving a call", serving);
        *lock(&new.registry) = registry;
        new
    }

    /// The metrics of the calls of a function.
    pub(super) fn calls_of(&self, labels: &FunctionLabels) -> Calls {
        Calls {
            durations: self.calls.get_or_create(labels).clone(),
            running: self.calls_running.get_or_create(labels).clone(),
        }
    }

    /// The metrics of a thread, until [`Self::remove_thread`].
    pub(super) fn add_thread(&self, labels: &ThreadLabels) -> ThreadCounts {
        ThreadCounts {
            calls: self.thread_calls.get_or_create(labels).clone(),
            busy: self.thread_busy.get_or_create(labels).clone(),
            serving: self.thread_serving.get_or_create(labels).clone(),
        }
    }

    pub(super) fn remove_thread(&self, labels: &ThreadLabels) {
        self.thread_calls.remove(labels);
        self.thread_busy.remove(labels);
        self.thread_serving.remove(labels);
    }

    /// The metrics in the OpenMetrics text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // A string takes all.
        let _ = encode(&mut text, &lock(&self.registry));
        text
    }
}
