//! The graph of unfinished tasks: their dependencies, starts, ends and failures.
//!
//! This module runs no tasks and knows no devices. A task that depends on another waits for it in
//! one of two ways. Normally it *starts* when the other has ended. If the device resolves the
//! dependency, it starts when the other is queued, and *ends* only after the other has ended.
//!
//! | file | job |
//! |---|---|
//! | `task` | the data of a task |
//! | `start` | starting tasks |
//! | `end` | ending tasks, and the effects on dependent ones |
//! | `failed` | failed tasks that are kept |
//! | `locks` | tasks that run one at a time |
//! | `family` | children of a task, groups |
//! | `effects` | actions for the caller |
//! | `stats` | counters |

mod effects;
mod end;
mod failed;
mod family;
mod locks;
mod start;
mod stats;
mod task;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use self::effects::Effects;
use self::failed::Failed;
use self::family::{Frame, Group};
use self::locks::Lock;
use self::task::{Edge, Phase, Task};
use super::error::{TaskError, TaskName};
use super::rules::{Access, merged};
use super::slab::{Id, Slab};

pub(super) use self::family::Family;
pub use self::stats::Stats;
pub(super) use self::task::{Executor, Mark, New, QueueId};

/// The party that orders target tasks which depend on target tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolve {
    /// The device, if it can: its queue waits for events.
    #[default]
    OnDevice,
    /// The host: a task is queued when its dependencies have ended. For comparison.
    OnHost,
}

/// The graph. `W` is a task's work, `V` its position in a queue.
pub(super) struct Graph<W, V> {
    tasks: Slab<Task<W, V>>,
    frames: Slab<Frame>,
    groups: Slab<Group>,
    locks: HashMap<(Id, usize), Lock>,
    resolve: Resolve,
    pub(super) root: Id,
    pub(super) effects: Effects<W, V>,
    pub(super) stats: Stats,
    error: Failure,
    /// Failed tasks, for later ones that depend on them.
    failed: Failed,
}

/// A failure, if there is one.
type Failure = Option<Arc<TaskError>>;

impl<W, V: Clone> Graph<W, V> {
    pub(super) fn new(resolve: Resolve) -> Self {
        let mut frames = Slab::default();
        let root = frames.insert(Frame {
            open: true,
            ..Frame::default()
        });
        Self {
            tasks: Slab::default(),
            frames,
            groups: Slab::default(),
            locks: HashMap::new(),
            resolve,
            root,
            effects: Effects::default(),
            stats: Stats::default(),
            error: None,
            failed: Failed::default(),
        }
    }

    fn next_number(&self) -> u32 {
        // Numbers wrap after four billion tasks: they are only for messages.
        self.stats.spawned as u32
    }

    /// The name of the next task.
    pub(super) fn next_name(&self, name: &Option<Arc<str>>) -> TaskName {
        TaskName {
            number: self.next_number(),
            name: name.clone(),
        }
    }

    /// Adds a task, the youngest child of its frame. If it waits, the caller calls [`may_start`](Self::may_start).
    pub(super) fn add(&mut self, mut new: New<W>) -> Id {
        let mut accesses = std::mem::take(&mut new.accesses);
        merged(&mut accesses);
        let exclusive = accesses.iter().filter(|(_, a)| *a == Access::MutexInOutSet);
        let locks: Box<[usize]> = exclusive.map(|&(address, _)| address).collect();
        for &address in &locks {
            self.locks.entry((new.frame, address)).or_default().users += 1;
        }
        let (executor, frame, group, waits) = (new.executor, new.frame, new.group, new.waits);
        let id = self.tasks.insert(Task::new(self.next_number(), new, locks));
        self.stats.spawned += 1;
        self.stats.pending += 1;
        let mut group = group;
        while let Some(known) = group.and_then(|id| self.groups.get_mut(id)) {
            known.unfinished += 1;
            group = known.parent;
        }
        let mut after = std::mem::take(&mut self.effects.dependencies);
        after.clear();
        if let Some(frame) = self.frames.get_mut(frame) {
            frame.unfinished += 1;
            let tasks = &self.tasks;
            let needed = |id| {
                let known = tasks.get(id);
                known.is_some_and(|task| task.phase != Phase::Ended || task.error.is_some())
            };
            frame.locations.add(id, &accesses, needed, &mut after);
        }
        // A location may remember an ended task whose number was reused for this one.
        after.retain(|&earlier| earlier != id);
        for &earlier in &after {
            self.depend(id, earlier, executor);
        }
        self.effects.dependencies = after;
        if !waits {
            self.may_start(id);
        }
        id
    }

    fn depend(&mut self, id: Id, earlier: Id, executor: Executor) {
        let Some(other) = self.tasks.get_mut(earlier) else {
            return;
        };
        if other.phase == Phase::Ended {
            let cause = other.error.clone();
            if let Some(task) = self.tasks.get_mut(id) {
                task.cause = task.cause.take().or(cause);
            }
            return;
        }
        let both = |a, b| matches!((a, b), (Executor::Target(_), Executor::Target(_)));
        let edge = match self.resolve {
            Resolve::OnDevice if both(executor, other.executor) && executor == other.executor => {
                if other.phase == Phase::Queued {
                    Edge::End
                } else {
                    Edge::Queue
                }
            }
            _ => Edge::Start,
        };
        if edge == Edge::Start && both(executor, other.executor) {
            self.stats.host_waits += 1;
        }
        other.next.push((id, edge));
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if edge != Edge::End {
            task.before_start += 1;
        }
        if edge != Edge::Start {
            task.before_end += 1;
            task.after.push(earlier);
        }
    }

    /// The name of a task.
    pub(super) fn name(&self, id: Id) -> TaskName {
        let unknown = TaskName {
            number: 0,
            name: None,
        };
        self.tasks.get(id).map_or(unknown, Task::name)
    }

    /// The outcome of a task whose handle is held; `None` if it has not ended.
    pub(super) fn outcome(&self, id: Id) -> Option<Result<(), Arc<TaskError>>> {
        let task = self.tasks.get(id)?;
        (task.phase == Phase::Ended).then(|| task.error.clone().map_or(Ok(()), Err))
    }

    /// Called when the handle of a task is dropped.
    pub(super) fn release(&mut self, id: Id) {
        if let Some(task) = self.tasks.get_mut(id) {
            task.held = false;
            if task.phase == Phase::Ended && task.error.is_none() {
                self.tasks.remove(id);
            }
        }
    }

    /// The first error of any task.
    pub(super) fn first_error(&self) -> Failure {
        self.error.clone()
    }
}
