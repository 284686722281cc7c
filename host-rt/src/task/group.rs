//! Groups, which can be cancelled.

use std::sync::Arc;

use super::shared::Shared;
use super::slab::Id;

/// A group of tasks: see [`Tasks::group`](super::Tasks::group). Clones are the same group,
/// and may go into its tasks.
#[derive(Clone)]
pub struct Group {
    pub(super) shared: Arc<Shared>,
    pub(super) id: Id,
}

impl Group {
    /// Ends the group's tasks that have not started, and those of groups in it, when their
    /// turn comes: with [`TaskError::Cancelled`](super::TaskError::Cancelled), which fails
    /// those outside that depend on them. What runs, or is in a queue of a device, goes on.
    /// Nothing can be spawned in it any more.
    pub fn cancel(&self) {
        self.shared.state().graph.cancel(self.id);
    }

    /// Whether the group was cancelled, or one that it is in.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.state().graph.is_cancelled(Some(self.id))
    }
}
