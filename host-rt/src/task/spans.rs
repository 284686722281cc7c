//! Spans of tasks.

use std::collections::HashMap;
use std::sync::Arc;

use tracing::debug_span;

use super::error::TaskName;
use super::slab::Id;
use crate::base::span::GuardedSpan;
use crate::base::sync::{AtomicBool, Mutex, Ordering, lock};

/// The spans of a scope's unfinished tasks, if a subscriber wants them. A subscriber is foreign code, which is
/// called without a lock.
#[derive(Default)]
pub(super) struct TaskSpans {
    by_task: Mutex<HashMap<Id, Arc<GuardedSpan>>>,
    /// Whether there has been any: programs without a subscriber do not lock the map.
    is_used: AtomicBool,
}

impl TaskSpans {
    /// Begins the span of a task that depends on the unfinished tasks `after`.
    pub(super) fn begin(&self, id: Id, name: &TaskName, after: &[(Id, TaskName)]) {
        let names: Vec<_> = after.iter().map(|(_, name)| name.to_string()).collect();
        let (name, names) = (name.to_string(), names.join(", "));
        // Without a parent: a task that spawns the next one would keep all of a chain.
        let span =
            GuardedSpan::new(|| debug_span!(parent: None, "task", otel.name = name, after = names));
        let span = Arc::new(span);
        let before: Vec<_> = {
            let mut spans = lock(&self.by_task);
            // Relaxed, here and below: the graph's lock orders it, under which the task starts later.
            self.is_used.store(true, Ordering::Relaxed);
            spans.insert(id, Arc::clone(&span));
            let of = |(id, _): &_| spans.get(id).map(Arc::clone);
            after.iter().filter_map(of).collect()
        };
        for before in &before {
            span.follows_from(before);
        }
    }

    /// The span of a task; none if it has ended or nobody wants it.
    pub(super) fn get(&self, id: Id) -> GuardedSpan {
        if !self.is_used.load(Ordering::Relaxed) {
            return GuardedSpan::default();
        }
        let span = lock(&self.by_task).get(&id).map(Arc::clone);
        span.map_or_else(GuardedSpan::default, |span| GuardedSpan::clone(&span))
    }

    /// Ends the spans of these tasks.
    pub(super) fn end(&self, ids: &[Id]) {
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let spans: Vec<_> = {
            let mut spans = lock(&self.by_task);
            ids.iter().filter_map(|id| spans.remove(id)).collect()
        };
        drop(spans);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use tracing::field::{Field, Visit};
    use tracing::span::Attributes;
    use tracing::subscriber::with_default;
    use tracing::{Subscriber, span};
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
    use tracing_subscriber::registry;
    use tracing_subscriber::registry::LookupSpan;

    use super::*;
    use crate::task::scope;

    /// The tasks as a subscriber sees them.
    #[derive(Default)]
    struct Recorded {
        /// Names, and the names of tasks that they follow.
        follows: Vec<(String, String)>,
        /// The tasks that have ended.
        ended: Vec<String>,
    }

    /// Notes it.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Recorded>>);

    struct Name(String);

    impl Visit for Name {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == "otel.name" {
                value.clone_into(&mut self.0);
            }
        }
        fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
    }

    fn name<S>(id: &span::Id, context: &Context<'_, S>) -> String
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let span = context.span(id).unwrap();
        let extensions = span.extensions();
        extensions.get::<Name>().unwrap().0.clone()
    }

    impl<S> Layer<S> for Notes
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        fn on_new_span(&self, attributes: &Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
            let mut name = Name(String::new());
            attributes.record(&mut name);
            context.span(id).unwrap().extensions_mut().insert(name);
        }
        fn on_follows_from(&self, id: &span::Id, before: &span::Id, context: Context<'_, S>) {
            let names = (name(id, &context), name(before, &context));
            lock(&self.0).follows.push(names);
        }
        fn on_close(&self, id: span::Id, context: Context<'_, S>) {
            let name = name(&id, &context);
            lock(&self.0).ended.push(name);
        }
    }

    #[test]
    fn a_task_follows_those_that_it_depends_on() {
        let notes = Notes::default();
        let place = 0u8;
        let (open, gate) = channel::<()>();
        with_default(registry().with(notes.clone()), || {
            scope(|tasks| {
                let first = tasks.host(move || gate.recv().unwrap());
                first.writes(&place).named("first").spawn()?;
                let second = tasks.host(|| ()).reads(&place);
                second.named("second").spawn()?;
                open.send(()).unwrap();
                Ok(())
            })
            .unwrap();
        });
        let mut seen = lock(&notes.0);
        let (first, second) = ("task `first`".to_owned(), "task `second`".to_owned());
        assert_eq!(seen.follows, [(second.clone(), first.clone())]);
        seen.ended.sort();
        assert_eq!(seen.ended, [first, second]);
    }
}
