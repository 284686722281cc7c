//! `LIBOMPTARGET_PROFILE=FILE`: a trace of durations for Chrome's viewer and Perfetto.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::message;
use crate::locks::lock;

/// The file.
const PROFILE: &str = "LIBOMPTARGET_PROFILE";

/// The shortest span in the trace, in microseconds; LLVM's default hides most spans, ours none.
const GRANULARITY: &str = "LIBOMPTARGET_PROFILE_GRANULARITY";

/// Most spans of a trace; later ones are counted.
const MAX_SPANS: usize = 1 << 20;

/// A trace in progress.
struct Trace {
    file: String,
    least: Duration,
    start: Instant,
    /// The start, for other programs.
    began: SystemTime,
    spans: Mutex<Spans>,
}

#[derive(Default)]
struct Spans {
    done: Vec<Done>,
    dropped: u64,
    /// The names of threads at the end of their first span.
    threads: BTreeMap<i64, String>,
    /// The number and the total time of spans by name, including those that are not in the trace.
    totals: BTreeMap<&'static str, (u64, Duration)>,
}

struct Done {
    name: &'static str,
    detail: String,
    thread: i64,
    from: Duration,
    took: Duration,
}

fn trace() -> Option<&'static Trace> {
    static TRACE: OnceLock<Option<Trace>> = OnceLock::new();
    TRACE
        .get_or_init(|| {
            let file = std::env::var(PROFILE)
                .ok()
                .filter(|file| !file.is_empty())?;
            let least = match std::env::var(GRANULARITY) {
                Ok(text) if !text.is_empty() => text.parse().unwrap_or_else(|_| {
                    message::error(&format!(
                        "{GRANULARITY}={text}: expected microseconds; 0 is used"
                    ));
                    0
                }),
                _ => 0,
            };
            Some(Trace {
                file,
                least: Duration::from_micros(least),
                start: Instant::now(),
                began: SystemTime::now(),
                spans: Mutex::default(),
            })
        })
        .as_ref()
}

/// A span that ends when it is dropped.
pub(crate) struct Span {
    trace: &'static Trace,
    name: &'static str,
    detail: String,
    from: Instant,
}

/// Begins a span; `None` without a trace.
pub(crate) fn span(name: &'static str, detail: impl FnOnce() -> String) -> Option<Span> {
    let trace = trace()?;
    Some(Span {
        trace,
        name,
        detail: detail(),
        from: Instant::now(),
    })
}

impl Drop for Span {
    fn drop(&mut self) {
        let took = self.from.elapsed();
        let mut spans = lock(&self.trace.spans);
        let (count, total) = spans.totals.entry(self.name).or_default();
        *count += 1;
        *total += took;
        if took < self.trace.least {
            return;
        }
        if spans.done.len() >= MAX_SPANS {
            spans.dropped += 1;
            return;
        }
        // SAFETY: the call takes no arguments.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        spans.threads.entry(thread).or_insert_with(thread_name);
        spans.done.push(Done {
            name: self.name,
            detail: std::mem::take(&mut self.detail),
            thread,
            from: self.from.duration_since(self.trace.start),
            took,
        });
    }
}

/// The system's name of the running thread.
fn thread_name() -> String {
    let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    name.trim_end().to_owned()
}

/// Writes the trace, if there is one.
pub(crate) fn write() {
    let Some(trace) = trace() else {
        return;
    };
    let spans = lock(&trace.spans);
    let process = std::process::id();
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
    let mut events: Vec<_> = spans
        .done
        .iter()
        .map(|span| {
            json!({
                "pid": process, "tid": span.thread, "ph": "X", "name": span.name,
                "ts": micros(span.from), "dur": micros(span.took),
                "args": { "detail": span.detail },
            })
        })
        .collect();
    // Each total has a row of its own, after those of the threads.
    let first_row = spans.threads.keys().max().map_or(0, |last| last + 1);
    let mut totals: Vec<_> = spans.totals.iter().collect();
    totals.sort_by_key(|(_, (_, total))| std::cmp::Reverse(*total));
    for (row, (name, (count, total))) in (first_row..).zip(totals) {
        let average = total.as_secs_f64() * 1e3 / *count as f64;
        events.push(json!({
            "pid": process, "tid": row, "ph": "X", "name": format!("Total {name}"),
            "ts": 0, "dur": micros(*total),
            "args": { "count": count, "avg ms": average },
        }));
    }
    let mut named = |kind: &str, thread: i64, name: &str| {
        events.push(json!({
            "pid": process, "tid": thread, "ts": 0, "ph": "M", "cat": "", "name": kind,
            "args": { "name": name },
        }));
    };
    named("process_name", i64::from(process), "libomptarget");
    for (&thread, name) in &spans.threads {
        named("thread_name", thread, name);
    }
    let began = trace.began.duration_since(UNIX_EPOCH).unwrap_or_default();
    let trace_json = json!({
        "traceEvents": events,
        "droppedSpans": spans.dropped,
        "beginningOfTime": began.as_micros() as u64,
    });
    if let Err(error) = std::fs::write(&trace.file, trace_json.to_string()) {
        message::error(&format!("{PROFILE}={}: {error}", trace.file));
    }
}
