//! Spans of tasks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tracing::{Level, debug_span, enabled};

use super::error::TaskName;
use super::slab::Id;
use crate::base::lock::lock;
use crate::base::span::GuardedSpan;

/// The spans of a scope's unfinished tasks, if a subscriber wants them. A subscriber is foreign code, which is
/// called without a lock.
#[derive(Default)]
pub(super) struct TaskSpans(Mutex<HashMap<Id, Arc<GuardedSpan>>>);

impl TaskSpans {
    /// Whether a subscriber wants them.
    pub(super) fn are_wanted() -> bool {
        enabled!(Level::DEBUG)
    }

    /// Begins the span of a task that depends on the unfinished tasks `after`.
    pub(super) fn begin(&self, id: Id, name: &TaskName, after: &[(Id, TaskName)]) {
        let names: Vec<_> = after.iter().map(|(_, name)| name.to_string()).collect();
        let (name, names) = (name.to_string(), names.join(", "));
        let span = GuardedSpan::new(|| debug_span!("task", otel.name = name, after = names));
        let span = Arc::new(span);
        let before: Vec<_> = {
            let mut spans = lock(&self.0);
            spans.insert(id, Arc::clone(&span));
            let of = |(id, _): &_| spans.get(id).map(Arc::clone);
            after.iter().filter_map(of).collect()
        };
        for before in &before {
            span.follows_from(before);
        }
    }

    /// The span of a task; none if it has ended or nobody wants it.
    pub(super) fn of(&self, id: Id) -> GuardedSpan {
        let span = lock(&self.0).get(&id).map(Arc::clone);
        span.map_or_else(GuardedSpan::default, |span| GuardedSpan::clone(&span))
    }

    /// Ends the spans of these tasks.
    pub(super) fn end(&self, ids: &[Id]) {
        let spans: Vec<_> = {
            let mut spans = lock(&self.0);
            ids.iter().filter_map(|id| spans.remove(id)).collect()
        };
        drop(spans);
    }
}
