//! `LIBOMPTARGET_PROFILE=FILE`: what took how long, as a trace that Chrome's viewer and
//! Perfetto show.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::locks::lock;
use crate::message;

/// The file.
const PROFILE: &str = "LIBOMPTARGET_PROFILE";

/// Microseconds that something must take to be in it; LLVM's default hides most, ours nothing.
const GRANULARITY: &str = "LIBOMPTARGET_PROFILE_GRANULARITY";

/// Spans of a trace; those after it are counted.
const MOST: usize = 1 << 20;

/// A trace that is being made.
struct Trace {
    file: String,
    least: Duration,
    start: Instant,
    spans: Mutex<Spans>,
}

#[derive(Default)]
struct Spans {
    done: Vec<Done>,
    dropped: u64,
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
                        "{GRANULARITY}={text}: expected microseconds; 0 it is"
                    ));
                    0
                }),
                _ => 0,
            };
            Some(Trace {
                file,
                least: Duration::from_micros(least),
                start: Instant::now(),
                spans: Mutex::default(),
            })
        })
        .as_ref()
}

/// Something that goes on until it is dropped.
pub(crate) struct Span {
    trace: &'static Trace,
    name: &'static str,
    detail: String,
    from: Instant,
}

/// Something begins; `None` where nobody wants to know.
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
        if took < self.trace.least {
            return;
        }
        let mut spans = lock(&self.trace.spans);
        if spans.done.len() >= MOST {
            spans.dropped += 1;
            return;
        }
        spans.done.push(Done {
            name: self.name,
            detail: std::mem::take(&mut self.detail),
            // SAFETY: asks the kernel for a number.
            thread: unsafe { libc::syscall(libc::SYS_gettid) },
            from: self.from.duration_since(self.trace.start),
            took,
        });
    }
}

/// Writes the trace, if there is to be one.
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
    events.push(json!({
        "pid": process, "tid": process, "ts": 0, "ph": "M", "cat": "", "name": "process_name",
        "args": { "name": "libomptarget" },
    }));
    let trace_json = json!({ "traceEvents": events, "droppedSpans": spans.dropped });
    if let Err(error) = std::fs::write(&trace.file, trace_json.to_string()) {
        message::error(&format!("{PROFILE}={}: {error}", trace.file));
    }
}
