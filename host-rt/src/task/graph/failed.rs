//! Tasks that have failed stay for those that will depend on them: until no location of their
//! siblings knows them any more.

use std::collections::HashSet;

use super::Graph;
use crate::task::slab::Id;

/// Tasks that have failed.
pub(super) struct Failed {
    kept: Vec<Id>,
    /// Length of `kept` at which those are looked for that can go.
    full: usize,
}

/// Fewer are not tidied.
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
    /// Keeps a task that has failed as long as somebody may ask how it ended.
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
        // As many fail before it is done again as were looked at.
        self.failed.full = FULL.max(2 * self.failed.kept.len()).max(looked_at);
    }
}
