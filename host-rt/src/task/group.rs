//! Groups, which can be cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::shared::Shared;
use super::slab::Id;

/// A group of tasks: see [`Tasks::group`](super::Tasks::group). Clones are the same group,
/// and may go into its tasks.
#[derive(Clone)]
pub struct Group {
    pub(super) shared: Arc<Shared>,
    pub(super) id: Id,
    /// What the graph knows only as long as the group's body runs, for clones that outlive it.
    pub(super) cancelled: Arc<AtomicBool>,
}

impl Group {
    /// Ends the group's tasks that have not started, and those of groups in it, when their
    /// turn comes: with [`TaskError::Cancelled`](super::TaskError::Cancelled), which fails
    /// those outside that depend on them. What runs, or is in a queue of a device, goes on.
    /// Nothing can be spawned in it any more.
    pub fn cancel(&self) {
        self.shared.state().graph.cancel(self.id);
        // Relaxed: a flag that nothing else hangs on.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the group was cancelled, or one that it is in.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Relaxed: where the graph has forgotten it, `close` came before by the graph's lock.
        self.shared.state().graph.is_cancelled(Some(self.id))
            || self.cancelled.load(Ordering::Relaxed)
    }

    /// The graph forgets it.
    pub(super) fn close(&self) {
        let mut state = self.shared.state();
        if state.graph.is_cancelled(Some(self.id)) {
            // Relaxed: see `is_cancelled`.
            self.cancelled.store(true, Ordering::Relaxed);
        }
        state.graph.close_group(self.id);
    }
}
