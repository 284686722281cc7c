//! Spans and events, as `tracing` reports them.

use std::mem::take;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span::{Attributes, Record};
use tracing::{Event, Id, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::file::TimelineFile;
use crate::record::Fields;
use crate::thread::{add, enter, leave, now};

/// Writes spans and events to a file.
pub(crate) struct Timeline {
    file: &'static TimelineFile,
    /// The number of the next arrow, or span of its own.
    next: AtomicU64,
}

/// What is known of a span.
struct Span {
    begin: u64,
    fields: Fields,
    /// Whether a thread has entered it.
    was_entered: bool,
    /// Arrows that end at its begin, until it is drawn.
    arrows_in: Vec<u64>,
    /// Arrows that begin at its end, until it is drawn.
    arrows_out: Vec<u64>,
}

impl Timeline {
    pub(crate) fn new(file: &'static TimelineFile) -> Self {
        Self {
            file,
            next: AtomicU64::new(1),
        }
    }

    fn number(&self) -> u64 {
        // Relaxed: only distinct.
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds records of something that ends now.
    fn draw(&self, now: u64, kinds: &[Kind], metadata: &Metadata<'_>, fields: &Fields) {
        let name = fields.name.as_deref().unwrap_or(metadata.name());
        add(self.file, now, |buffer, thread| {
            for kind in kinds {
                let (letter, time) = match *kind {
                    Kind::Slice { begin } => ("X", begin),
                    Kind::Begin { begin, .. } => ("b", begin),
                    Kind::ArrowTo { begin, .. } => ("f", begin),
                    Kind::End { .. } => ("e", now),
                    Kind::ArrowFrom { .. } => ("s", now),
                    Kind::Instant => ("i", now),
                };
                let record = self.file.record(buffer, letter, thread);
                let record = record.time("ts", time).text("cat", metadata.target());
                match *kind {
                    Kind::Slice { begin } => {
                        let record = record.time("dur", now - begin);
                        record.text("name", name).end(&fields.args);
                    }
                    Kind::Begin { number, .. } => {
                        let record = record.number("id", number);
                        record.text("name", name).end(&fields.args);
                    }
                    Kind::End { number } => record.number("id", number).text("name", name).end(&[]),
                    // It binds to the slice around its time, not to the next one.
                    Kind::ArrowTo { number, .. } => {
                        let record = record.number("id", number).text("bp", "e");
                        record.text("name", "follows").end(&[]);
                    }
                    Kind::ArrowFrom { number } => {
                        record.number("id", number).text("name", "follows").end(&[]);
                    }
                    Kind::Instant => record.text("s", "t").text("name", name).end(&fields.args),
                }
            }
        });
    }
}

/// A record.
enum Kind {
    /// A slice of this thread.
    Slice {
        begin: u64,
    },
    /// Both ends of a slice of its own.
    Begin {
        begin: u64,
        number: u64,
    },
    End {
        number: u64,
    },
    /// Both ends of an arrow.
    ArrowTo {
        begin: u64,
        number: u64,
    },
    ArrowFrom {
        number: u64,
    },
    Instant,
}

impl<S> Layer<S> for Timeline
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Span {
            begin: now(),
            fields,
            was_entered: false,
            arrows_in: Vec::new(),
            arrows_out: Vec::new(),
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(span) = span.extensions_mut().get_mut::<Span>() {
            values.record(&mut span.fields);
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let (Some(span), Some(before)) = (context.span(id), context.span(follows)) else {
            return;
        };
        let number = self.number();
        if let Some(before) = before.extensions_mut().get_mut::<Span>() {
            before.arrows_out.push(number);
        }
        if let Some(span) = span.extensions_mut().get_mut::<Span>() {
            span.arrows_in.push(number);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.draw(now(), &[Kind::Instant], event.metadata(), &fields);
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        enter(self.file, id);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let now = now();
        let (Some(begin), Some(span)) = (leave(self.file, id), context.span(id)) else {
            return;
        };
        let mut extensions = span.extensions_mut();
        let Some(drawn) = extensions.get_mut::<Span>() else {
            return;
        };
        drawn.was_entered = true;
        let mut kinds = vec![Kind::Slice { begin }];
        let to = |number| Kind::ArrowTo { begin, number };
        kinds.extend(take(&mut drawn.arrows_in).into_iter().map(to));
        let from = |number| Kind::ArrowFrom { number };
        kinds.extend(take(&mut drawn.arrows_out).into_iter().map(from));
        self.draw(now, &kinds, span.metadata(), &drawn.fields);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let extensions = span.extensions();
        let Some(drawn) = extensions.get::<Span>().filter(|drawn| !drawn.was_entered) else {
            return;
        };
        let (begin, number) = (drawn.begin, self.number());
        let kinds = [Kind::Begin { begin, number }, Kind::End { number }];
        self.draw(now(), &kinds, span.metadata(), &drawn.fields);
    }
}
