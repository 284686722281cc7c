//! What a change of the graph asks of its caller.

use std::collections::VecDeque;

use crate::task::slab::Id;

/// What the caller of a method has to do next.
pub(in crate::task) struct Effects<W, V> {
    /// Tasks that are ready to run on the host.
    pub(in crate::task) host: VecDeque<Id>,
    /// Tasks to be queued on a device.
    pub(in crate::task) target: VecDeque<Id>,
    /// To be dropped without the lock on the graph, since it is not our code that is.
    pub(in crate::task) dropped: Vec<W>,
    /// What is in a queue behind something that has failed.
    pub(in crate::task) to_cancel: Vec<V>,
    /// Something that is waited for may have happened.
    pub(in crate::task) changed: bool,
}

impl<W, V> Default for Effects<W, V> {
    fn default() -> Self {
        Self {
            host: VecDeque::new(),
            target: VecDeque::new(),
            dropped: Vec::new(),
            to_cancel: Vec::new(),
            changed: false,
        }
    }
}
