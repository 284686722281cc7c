//! The difference of two samples.

use super::sample::{Labels, Sample};

/// The activity of a program between two samples.
pub(super) struct Activity {
    /// The program's name, and the number of its process.
    pub(super) program: String,
    pub(super) process: String,
    pub(super) functions: Vec<Function>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) copies: Vec<Copies>,
    pub(super) threads: Vec<Thread>,
}

/// The calls of a host function by a device.
pub(super) struct Function {
    pub(super) function: String,
    pub(super) device: String,
    pub(super) per_second: f64,
    pub(super) all: f64,
    pub(super) running: f64,
    /// Of the calls that ended: their mean duration in seconds, and upper bounds of p50 and p99.
    pub(super) durations: Option<[f64; 3]>,
}

/// The launches of a kernel on a device.
pub(super) struct Kernel {
    pub(super) kernel: String,
    pub(super) device: String,
    pub(super) per_second: f64,
    pub(super) all: f64,
    pub(super) running: f64,
}

/// The copies of one direction.
pub(super) struct Copies {
    pub(super) direction: String,
    pub(super) per_second: f64,
    pub(super) bytes_per_second: f64,
    pub(super) all: f64,
}

/// A thread that serves calls.
pub(super) struct Thread {
    pub(super) thread: String,
    pub(super) id: String,
    pub(super) per_second: f64,
    /// The share of the time in calls that ended.
    pub(super) busy: f64,
    pub(super) is_serving: bool,
}

impl Activity {
    /// The activity between two samples. All rates are 0 if they are the same.
    pub(super) fn between(first: &Sample, second: &Sample) -> Self {
        let seconds = (second.time - first.time).as_secs_f64();
        let increase = |name: &str, labels: &Labels| {
            // A thread's metrics may have ended, and another have begun.
            (second.value(name, labels) - first.value(name, labels)).max(0.0)
        };
        let rate = |name: &str, labels: &Labels| match seconds {
            0.0 => 0.0,
            _ => increase(name, labels) / seconds,
        };
        let process = second.values("revoff_process_info").first();
        let process = process
            .map(|(labels, _)| labels.clone())
            .unwrap_or_default();

        let functions = second.values("revoff_calls_running").iter();
        let functions = functions.map(|(labels, running)| Function {
            function: label(labels, "function"),
            device: label(labels, "device"),
            per_second: rate("revoff_call_seconds_count", labels),
            all: second.value("revoff_call_seconds_count", labels),
            running: *running,
            durations: durations(labels, first, second, &increase),
        });
        let kernels = second.values("revoff_launches_running").iter();
        let kernels = kernels.map(|(labels, running)| Kernel {
            kernel: label(labels, "kernel"),
            device: label(labels, "device"),
            per_second: rate("revoff_launches_total", labels),
            all: second.value("revoff_launches_total", labels),
            running: *running,
        });
        let copies = second.values("revoff_copies_total").iter();
        let copies = copies.map(|(labels, all)| Copies {
            direction: label(labels, "direction"),
            per_second: rate("revoff_copies_total", labels),
            bytes_per_second: rate("revoff_copied_bytes_total", labels),
            all: *all,
        });
        let threads = second.values("revoff_thread_serving").iter();
        let threads = threads.map(|(labels, serving)| Thread {
            thread: label(labels, "thread"),
            id: label(labels, "id"),
            per_second: rate("revoff_thread_calls_total", labels),
            // A call that ends in this interval may have begun before.
            busy: rate("revoff_thread_busy_seconds_total", labels).min(1.0),
            is_serving: *serving > 0.0,
        });
        let mut activity = Self {
            program: label(&process, "program"),
            process: label(&process, "process"),
            functions: functions.collect(),
            kernels: kernels.collect(),
            copies: copies.collect(),
            threads: threads.collect(),
        };
        activity.sort();
        activity
    }

    /// The busiest first.
    fn sort(&mut self) {
        self.functions.sort_by(|a, b| {
            let busiest = b.per_second.total_cmp(&a.per_second);
            busiest
                .then(b.all.total_cmp(&a.all))
                .then_with(|| a.function.cmp(&b.function))
        });
        self.kernels.sort_by(|a, b| {
            let busiest = b.running.total_cmp(&a.running);
            busiest
                .then(b.all.total_cmp(&a.all))
                .then_with(|| a.kernel.cmp(&b.kernel))
        });
        self.copies.sort_by(|a, b| a.direction.cmp(&b.direction));
        self.threads.sort_by(|a, b| {
            let busiest = b.per_second.total_cmp(&a.per_second);
            busiest.then_with(|| (&a.thread, &a.id).cmp(&(&b.thread, &b.id)))
        });
    }
}

fn label(labels: &Labels, name: &str) -> String {
    labels.get(name).cloned().unwrap_or_default()
}

/// The durations of a function's calls that ended between two samples.
fn durations(
    function: &Labels,
    first: &Sample,
    second: &Sample,
    increase: &impl Fn(&str, &Labels) -> f64,
) -> Option<[f64; 3]> {
    let ended = increase("revoff_call_seconds_count", function);
    if ended == 0.0 {
        return None;
    }
    let mut buckets: Vec<_> = second
        .values("revoff_call_seconds_bucket")
        .iter()
        .filter_map(|(labels, count)| {
            let mut of = labels.clone();
            let bound = of.remove("le")?.parse::<f64>().ok()?;
            let before = || first.value("revoff_call_seconds_bucket", labels);
            (of == *function).then(|| (bound, count - before()))
        })
        .collect();
    buckets.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let bound = |share: f64| {
        let found = buckets.iter().find(|(_, count)| *count >= share * ended);
        found.map_or(f64::INFINITY, |(bound, _)| *bound)
    };
    let mean = increase("revoff_call_seconds_sum", function) / ended;
    Some([mean, bound(0.5), bound(0.99)])
}
