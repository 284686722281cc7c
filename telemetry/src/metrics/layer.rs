//! Spans, as `tracing` reports them.

use std::fmt::Debug;
use std::time::Instant;

use tracing::field::{Field, Visit};
use tracing::span::Attributes;
use tracing::{Id, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::counts::{CopyLabels, Counts, FunctionLabels, KernelLabels};
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
    Call(FunctionLabels, Instant),
    Launch(KernelLabels),
}

/// The fields of a span that are counted.
#[derive(Default)]
struct Fields {
    name: String,
    device: String,
    bytes: u64,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "otel.name" => value.clone_into(&mut self.name),
            "device" => value.clone_into(&mut self.device),
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

impl SpanCounter {
    pub(super) fn new(counts: &'static Counts) -> Self {
        Self(counts)
    }

    /// Counts the beginning of a span. Returns what its end needs.
    fn begin(&self, name: &str, fields: Fields) -> Option<Span> {
        let (device, name_of_span) = (fields.device, fields.name);
        match name {
            CALL => {
                let labels = FunctionLabels {
                    device,
                    function: name_of_span,
                };
                self.0.calls_running.get_or_create(&labels).inc();
                Some(Span::Call(labels, Instant::now()))
            }
            LAUNCH => {
                let labels = KernelLabels {
                    device,
                    kernel: name_of_span,
                };
                self.0.launches.get_or_create(&labels).inc();
                self.0.launches_running.get_or_create(&labels).inc();
                Some(Span::Launch(labels))
            }
            _ => {
                let labels = CopyLabels {
                    direction: name_of_span,
                };
                self.0.copies.get_or_create(&labels).inc();
                self.0
                    .copied_bytes
                    .get_or_create(&labels)
                    .inc_by(fields.bytes);
                None
            }
        }
    }

    /// Counts the end of a span, once.
    fn end<S>(&self, id: &Id, context: &Context<'_, S>)
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let Some(span) = context.span(id) else {
            return;
        };
        let ended = span.extensions_mut().remove::<Span>();
        match ended {
            Some(Span::Call(labels, start)) => {
                let duration = start.elapsed().as_secs_f64();
                self.0.calls.get_or_create(&labels).observe(duration);
                self.0.calls_running.get_or_create(&labels).dec();
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
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let open = self.begin(attributes.metadata().name(), fields);
        if let (Some(open), Some(span)) = (open, context.span(id)) {
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
        thread::end(self.0);
        // The span itself ends later if its function has begun spans that have not ended.
        self.end(id, &context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if !is_child() {
            self.end(&id, &context);
        }
    }
}
