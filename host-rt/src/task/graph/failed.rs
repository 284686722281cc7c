//! Failed tasks, which are kept as long as later tasks may depend on them: until no location of
//! their siblings refers to them.

use std::collections::HashSet;

use super::Graph;
use crate::task::slab::Id;

/// Failed tasks.
pub(super) struct Failed {
    kept: Vec<Id>,
    /// The length of `kept` at which unreferenced tasks are removed.
    full: usize,
}

/// Shorter lists are not cleaned up.
const FULL: usize = 64;

impl Default for Failed {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            full: FULL,
        }
    }
}

impl<W, V> Graph<W, V> {
    /// Keeps a failed task as long as its outcome may be asked for.
    pub(super) fn keep_failed(&mut self, id: Id) {
        self.failed.kept.push(id);
        if self.failed.kept.len() < self.failed.full {
            return;
        }
        let mut looked_at = 0;
        let mut known = HashSet::new();
        for frame in self.frames.values() {
            looked_at += 1;
            for task in frame.locations.tasks() {
                looked_at += 1;
                known.insert(task);
            }
        }
        let tasks = &mut self.tasks;
        self.failed.kept.retain(|&id| {
            let held = tasks.get(id).is_some_and(|task| task.held);
            let stays = held || known.contains(&id);
            if !stays {
                tasks.remove(id);
            }
            stays
        });
        // The next clean-up comes after as many failures as tasks were checked now.
        self.failed.full = FULL.max(2 * self.failed.kept.len()).max(looked_at);
    }
}
