//! The actions that a change of the graph requires of its caller.

use std::collections::VecDeque;

use crate::task::slab::Id;

/// The actions that the caller of a method has to perform.
pub(in crate::task) struct Effects<W, V> {
    /// Tasks that are ready to run on the host.
    pub(in crate::task) host: VecDeque<Id>,
    /// Tasks to be queued on a device.
    pub(in crate::task) target: VecDeque<Id>,
    /// Tasks that have ended.
    pub(in crate::task) ended: Vec<Id>,
    /// The tasks on which the last one that was added depends.
    pub(in crate::task) dependencies: Vec<Id>,
    /// Work to be dropped without the lock on the graph, since it runs foreign code.
    pub(in crate::task) dropped: Vec<W>,
    /// Marks of tasks in a queue after a failure.
    pub(in crate::task) to_cancel: Vec<V>,
    /// Waiting threads should check their conditions.
    pub(in crate::task) changed: bool,
}

impl<W, V> Default for Effects<W, V> {
    fn default() -> Self {
        Self {
            host: VecDeque::new(),
            target: VecDeque::new(),
            ended: Vec::new(),
            dependencies: Vec::new(),
            dropped: Vec::new(),
            to_cancel: Vec::new(),
            changed: false,
        }
    }
}
