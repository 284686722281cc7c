//! A task in the graph.

use std::sync::Arc;

use super::Failure;
use crate::task::error::TaskName;
use crate::task::rules::Access;
use crate::task::slab::Id;

/// The executor of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::task) enum Executor {
    /// It runs on a thread of the host.
    Host,
    /// A queue of a device, in this domain of queues that can wait for each other's events.
    Target(u32),
}

/// A new task.
pub(in crate::task) struct New<W> {
    pub(in crate::task) name: Option<Arc<str>>,
    pub(in crate::task) executor: Executor,
    pub(in crate::task) frame: Id,
    pub(in crate::task) group: Option<Id>,
    pub(in crate::task) accesses: Vec<(usize, Access)>,
    pub(in crate::task) work: W,
    /// Whether its [handle](Graph::release) is held.
    pub(in crate::task) held: bool,
    /// Whether it does not start before the caller calls [`may_start`](Graph::may_start).
    pub(in crate::task) waits: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Ready,
    /// It runs, or is being queued.
    Started,
    /// It is in its queue.
    Queued,
    Ended,
}

/// The way in which a task waits for one that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// It starts when the other has ended.
    Start,
    /// It starts when the other is queued, and ends when that has ended.
    Queue,
    /// It ends when the other has ended.
    End,
}

/// The position of a task in its queue.
#[derive(Clone)]
pub(in crate::task) struct Mark<V> {
    pub(in crate::task) task: Id,
    pub(in crate::task) queue: QueueId,
    pub(in crate::task) at: V,
}

/// A queue of a device, in one epoch: until a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::task) struct QueueId {
    pub(in crate::task) device: u32,
    pub(in crate::task) number: u32,
    pub(in crate::task) epoch: u32,
}

/// The parts of the end of a queued task, besides its dependencies: the queueing, and the queued
/// operations.
pub(super) const PARTS: u32 = 2;

/// A task that has not ended, or whose outcome may be asked for.
pub(super) struct Task<W, V> {
    pub(super) number: u32,
    pub(super) name: Option<Arc<str>>,
    pub(super) executor: Executor,
    pub(super) phase: Phase,
    pub(super) held: bool,
    /// It is queued behind the operations of a task that was queued again since, because an
    /// unrelated operation in that one's queue had failed.
    pub(super) after_repeated: bool,
    /// Its queue had failed before it.
    pub(super) behind_failure: bool,
    /// The number of open conditions of its start, including its addition to the graph.
    pub(super) before_start: u32,
    /// The number of open conditions of its end, for target tasks.
    pub(super) before_end: u32,
    pub(super) frame: Id,
    pub(super) group: Option<Id>,
    pub(super) next: Vec<(Id, Edge)>,
    /// Tasks whose events its queue waits for.
    pub(super) after: Vec<Id>,
    pub(super) locks: Box<[usize]>,
    /// The error of a task that it depends on.
    pub(super) cause: Failure,
    /// Its own error; after its end, its outcome.
    pub(super) error: Failure,
    pub(super) mark: Option<Mark<V>>,
    pub(super) work: Option<W>,
}

impl<W, V> Task<W, V> {
    pub(super) fn new(number: u32, new: New<W>, locks: Box<[usize]>) -> Self {
        Self {
            number,
            name: new.name,
            executor: new.executor,
            phase: Phase::Waiting,
            held: new.held,
            after_repeated: false,
            behind_failure: false,
            before_start: 1,
            before_end: PARTS,
            frame: new.frame,
            group: new.group,
            next: Vec::new(),
            after: Vec::new(),
            locks,
            cause: None,
            error: None,
            mark: None,
            work: Some(new.work),
        }
    }

    pub(super) fn name(&self) -> TaskName {
        TaskName {
            number: self.number,
            name: self.name.clone(),
        }
    }
}
