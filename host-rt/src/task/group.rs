//! Groups of tasks, which can be cancelled.

use std::sync::Arc;

use super::shared::Shared;
use super::slab::Id;
use crate::base::sync::{AtomicBool, Ordering};

/// A group of tasks: see [`Tasks::group`](super::Tasks::group). Clones are the same group, and may
/// be moved into its tasks.
#[derive(Clone)]
pub struct Group {
    pub(super) shared: Arc<Shared>,
    pub(super) id: Id,
    /// A copy of the graph's state, for clones that outlive the group's body.
    pub(super) cancelled: Arc<AtomicBool>,
}

impl Group {
    /// Ends the tasks of the group and its subgroups that have not started, when their turn comes,
    /// with [`TaskError::Cancelled`](super::TaskError::Cancelled), which also fails tasks outside
    /// that depend on them. Tasks that run, or are in a queue of a device, continue. Spawning a task
    /// in the group fails with the same error.
    pub fn cancel(&self) {
        self.shared.state().graph.cancel(self.id);
        // Relaxed: the flag orders nothing else.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the group, or one that contains it, was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Relaxed: if the graph has forgotten the group, its lock orders `close` before this.
        self.shared.state().graph.is_cancelled(Some(self.id))
            || self.cancelled.load(Ordering::Relaxed)
    }

    /// Called when the graph forgets the group.
    pub(super) fn close(&self) {
        let mut state = self.shared.state();
        if state.graph.is_cancelled(Some(self.id)) {
            // Relaxed: see `is_cancelled`.
            self.cancelled.store(true, Ordering::Relaxed);
        }
        state.graph.close_group(self.id);
    }
}
