//! Locks of locations, for tasks with `mutexinoutset`, which run one at a time.

use std::collections::VecDeque;

use super::Graph;
use super::task::{Executor, Phase};
use crate::task::slab::Id;

/// The lock of a location, which tasks with `mutexinoutset` take in turn.
#[derive(Default)]
pub(super) struct Lock {
    pub(super) users: usize,
    pub(super) holder: Option<Id>,
    pub(super) waiting: VecDeque<Id>,
}

impl<W, V> Graph<W, V> {
    /// Makes a task ready if it gets all its locks. Otherwise it waits for one of them, and holds
    /// none.
    pub(super) fn lock(&mut self, id: Id) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        let frame = task.frame;
        let held = task.locks.iter().find_map(|&address| {
            let lock = self.locks.get(&(frame, address))?;
            // The task holds it already if it was ready before.
            let holder = lock.holder.filter(|&holder| holder != id)?;
            Some((address, holder))
        });
        if let Some((address, holder)) = held {
            let on_target = |executor| matches!(executor, Executor::Target(_));
            let waits = on_target(task.executor);
            if waits
                && self
                    .tasks
                    .get(holder)
                    .is_some_and(|t| on_target(t.executor))
            {
                self.stats.host_waits += 1;
            }
            if let Some(lock) = self.locks.get_mut(&(frame, address)) {
                lock.waiting.push_back(id);
            }
            return;
        }
        for &address in &task.locks {
            if let Some(lock) = self.locks.get_mut(&(frame, address)) {
                lock.holder = Some(id);
            }
        }
        task.phase = Phase::Ready;
        match task.executor {
            Executor::Host => {
                self.effects.host.push_back(id);
                self.effects.changed = true;
            }
            Executor::Target(_) => self.effects.target.push_back(id),
        }
    }

    pub(super) fn unlock(&mut self, id: Id, frame: Id, locks: &[usize]) {
        for &address in locks {
            if let Some(lock) = self.locks.get_mut(&(frame, address))
                && lock.holder == Some(id)
            {
                lock.holder = None;
            }
        }
        for &address in locks {
            while let Some(lock) = self.locks.get_mut(&(frame, address))
                && lock.holder.is_none()
                && let Some(next) = lock.waiting.pop_front()
            {
                self.lock(next);
            }
            if let Some(lock) = self.locks.get_mut(&(frame, address)) {
                lock.users -= 1;
                if lock.users == 0 {
                    self.locks.remove(&(frame, address));
                }
            }
        }
    }
}
