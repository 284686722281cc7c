//! Spans, as `tracing` reports them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Debug;
use std::time::Instant;

use tracing::field::{Field, Visit};
use tracing::span::Attributes;
use tracing::{Id, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::counts::{Calls, CopyLabels, Counts, FunctionLabels, KernelLabels};
use super::thread;
use crate::fork::is_child;

/// Counts launches, calls and copies.
pub(super) struct SpanCounter(&'static Counts);

/// Whether a span is counted: those of host-rt.
pub(super) fn is_counted(metadata: &Metadata<'_>) -> bool {
    metadata.is_span()
        && *metadata.level() <= Level::DEBUG
        && metadata.target().starts_with("revoff_host::")
        && matches!(metadata.name(), CALL | LAUNCH | COPY)
}

const CALL: &str = "call";
const LAUNCH: &str = "launch";
const COPY: &str = "copy";

/// A span that has not ended.
enum Span {
    Call(Calls, Instant),
    Launch(KernelLabels),
}

/// The fields of a span that are counted.
#[derive(Default)]
struct Fields {
    /// The device, and the name of the span.
    labels: FunctionLabels,
    bytes: u64,
}

impl Fields {
    /// Removes all of them, and keeps their memory.
    fn clear(&mut self) {
        self.labels.device.clear();
        self.labels.function.clear();
        self.bytes = 0;
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "otel.name" => value.clone_into(&mut self.labels.function),
            "device" => value.clone_into(&mut self.labels.device),
            _ => {}
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "bytes" {
            self.bytes = value;
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

thread_local! {
    /// The fields of this thread's last call, whose memory the next one takes.
    static FIELDS: Cell<Fields> = Cell::default();
    /// The functions whose calls this thread has counted: a call then needs no lock.
    static FUNCTIONS: RefCell<HashMap<FunctionLabels, Calls>> = RefCell::default();
}

impl SpanCounter {
    pub(super) fn new(counts: &'static Counts) -> Self {
        Self(counts)
    }

    /// Counts the beginning of a call. Returns what its end needs.
    fn begin_call(&self, labels: &FunctionLabels) -> Span {
        // In the destructors of this thread's variables there are none.
        let known = FUNCTIONS.try_with(|known| known.borrow().get(labels).cloned());
        let calls = known.ok().flatten().unwrap_or_else(|| {
            let new = self.0.calls_of(labels);
            let _ =
                FUNCTIONS.try_with(|known| known.borrow_mut().insert(labels.clone(), new.clone()));
            new
        });
        calls.running.inc();
        Span::Call(calls, Instant::now())
    }

    /// Counts the beginning of a launch. Returns what its end needs.
    fn begin_launch(&self, fields: Fields) -> Span {
        let labels = KernelLabels {
            device: fields.labels.device,
            kernel: fields.labels.function,
        };
        self.0.launches.get_or_create(&labels).inc();
        self.0.launches_running.get_or_create(&labels).inc();
        Span::Launch(labels)
    }

    fn count_copy(&self, fields: Fields) {
        let labels = CopyLabels {
            direction: fields.labels.function,
        };
        self.0.copies.get_or_create(&labels).inc();
        let bytes = self.0.copied_bytes.get_or_create(&labels);
        bytes.inc_by(fields.bytes);
    }

    /// Counts the end of a span, once.
    fn end<S>(&self, id: &Id, context: &Context<'_, S>, now: Instant)
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let Some(span) = context.span(id) else {
            return;
        };
        let ended = span.extensions_mut().remove::<Span>();
        match ended {
            Some(Span::Call(calls, start)) => {
                calls.durations.observe((now - start).as_secs_f64());
                calls.running.dec();
            }
            Some(Span::Launch(labels)) => {
                self.0.launches_running.get_or_create(&labels).dec();
            }
            None => {}
        }
    }
}

impl<S> Layer<S> for SpanCounter
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if is_child() {
            return;
        }
        let mut fields = FIELDS.try_with(Cell::take).unwrap_or_default();
        fields.clear();
        attributes.record(&mut fields);
        let open = match attributes.metadata().name() {
            CALL => {
                let open = self.begin_call(&fields.labels);
                let _ = FIELDS.try_with(|spare| spare.set(fields));
                open
            }
            LAUNCH => self.begin_launch(fields),
            _ => return self.count_copy(fields),
        };
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(open);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if !is_child() && context.metadata(id).is_some_and(|span| span.name() == CALL) {
            thread::begin(self.0);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if is_child() || context.metadata(id).is_none_or(|span| span.name() != CALL) {
            return;
        }
        let now = Instant::now();
        thread::end(self.0, now);
        // The span itself ends later if its function has begun spans that have not ended.
        self.end(id, &context, now);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if !is_child() {
            self.end(&id, &context, Instant::now());
        }
    }
}
