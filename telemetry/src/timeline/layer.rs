//! Spans and events, as `tracing` reports them.

use std::mem::take;
use std::sync::Arc;

use tracing::span::{Attributes, Record};
use tracing::{Event, Id, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::file::TimelineFile;
use super::record::Fields;
use super::thread::{add, enter, leave};
use crate::clock::now;

/// Writes spans and events to a file.
pub(crate) struct Timeline(&'static TimelineFile);

/// The state of a span.
struct Span {
    begin: u64,
    fields: Arc<Fields>,
    /// Its first slice of a thread.
    slice: Option<Slice>,
    /// Arrows that end at the begin of its first slice, until that is drawn.
    arrows_in: Vec<String>,
    /// Arrows that begin at its end, until it is drawn.
    arrows_out: Vec<String>,
}

/// A time in which a thread had entered a span.
#[derive(Clone, Copy)]
struct Slice {
    thread: u32,
    begin: u64,
    end: u64,
}

impl Timeline {
    pub(crate) fn new(file: &'static TimelineFile) -> Self {
        Self(file)
    }

    /// Adds a record of a slice of this thread.
    fn draw_slice(&self, slice: Slice, metadata: &Metadata<'_>, fields: &Fields) {
        add(self.0, |buffer, thread| {
            let record = self.0.record(buffer, "X", thread);
            let record = record.time("ts", slice.begin);
            let record = record.time("dur", slice.end - slice.begin);
            let record = record.text("cat", metadata.target());
            record
                .text("name", fields.name_or(metadata.name()))
                .end(&fields.args());
        });
    }

    /// Adds one end of an arrow, at the begin (`f`) or the end (`s`) of a slice.
    fn draw_arrow(&self, kind: &str, slice: Slice, id: &str) {
        let time = match kind {
            // Within the slice: at its end, it would belong to the next one.
            "s" => slice.begin.max(slice.end.saturating_sub(1)),
            _ => slice.begin,
        };
        add(self.0, |buffer, _| {
            let record = self.0.record(buffer, kind, slice.thread);
            let record = record.time("ts", time).text("cat", ARROWS).text("id", id);
            // It belongs to the slice around its time, not to the next one.
            record.text("bp", "e").text("name", "follows").end(&[]);
        });
    }

    /// Adds both ends of a slice without a thread.
    fn draw_open_slice(&self, begin: u64, metadata: &Metadata<'_>, fields: &Fields) {
        let id = self.0.new_id();
        let end = now();
        add(self.0, |buffer, thread| {
            for (kind, time) in [("b", begin), ("e", end)] {
                let record = self.0.record(buffer, kind, thread).time("ts", time);
                let record = record.text("cat", metadata.target()).text("id", &id);
                let record = record.text("name", fields.name_or(metadata.name()));
                match kind {
                    "b" => record.end(&fields.args()),
                    _ => record.end(&[]),
                }
            }
        });
    }
}

/// The category of arrows.
const ARROWS: &str = "follows";

impl<S> Layer<S> for Timeline
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::of_span();
        attributes.record(&mut fields);
        let Some(span) = context.span(id) else { return };
        span.extensions_mut().insert(Span {
            begin: now(),
            fields: Arc::new(fields),
            slice: None,
            arrows_in: Vec::new(),
            arrows_out: Vec::new(),
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        // Values are the program's code, which is called without a lock.
        let mut fields = Fields::of_span();
        values.record(&mut fields);
        let Some(span) = context.span(id) else { return };
        if let Some(span) = span.extensions_mut().get_mut::<Span>() {
            Arc::make_mut(&mut span.fields).merge(fields);
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let (Some(span), Some(before)) = (context.span(id), context.span(follows)) else {
            return;
        };
        let arrow = self.0.new_id();
        let mut drawn = None;
        if let Some(before) = before.extensions_mut().get_mut::<Span>() {
            drawn = before.slice;
            if drawn.is_none() {
                before.arrows_out.push(arrow.clone());
            }
        }
        if let Some(slice) = drawn {
            self.draw_arrow("s", slice, &arrow);
        }
        if let Some(span) = span.extensions_mut().get_mut::<Span>() {
            span.arrows_in.push(arrow);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::of_event();
        event.record(&mut fields);
        let (metadata, now) = (event.metadata(), now());
        add(self.0, |buffer, thread| {
            let record = self.0.record(buffer, "i", thread).time("ts", now);
            let record = record.text("cat", metadata.target()).text("s", "t");
            record
                .text("name", fields.name_or(metadata.name()))
                .end(&fields.args());
        });
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        enter(self.0, id);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let end = now();
        let (Some((thread, begin)), Some(span)) = (leave(self.0, id), context.span(id)) else {
            return;
        };
        let slice = Slice { thread, begin, end };
        let (fields, arrows_in, arrows_out) = {
            let mut extensions = span.extensions_mut();
            let Some(span) = extensions.get_mut::<Span>() else {
                return;
            };
            span.slice.get_or_insert(slice);
            let arrows = (take(&mut span.arrows_in), take(&mut span.arrows_out));
            (Arc::clone(&span.fields), arrows.0, arrows.1)
        };
        self.draw_slice(slice, span.metadata(), &fields);
        for arrow in arrows_in {
            self.draw_arrow("f", slice, &arrow);
        }
        for arrow in arrows_out {
            self.draw_arrow("s", slice, &arrow);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let open = {
            let extensions = span.extensions();
            let open = extensions.get::<Span>().filter(|span| span.slice.is_none());
            open.map(|span| (span.begin, Arc::clone(&span.fields)))
        };
        if let Some((begin, fields)) = open {
            self.draw_open_slice(begin, span.metadata(), &fields);
        }
    }
}
