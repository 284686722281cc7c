//! What a change of the graph leaves to its caller.

use std::collections::VecDeque;

use crate::task::slab::Id;

/// What the caller of a method has to do.
pub(in crate::task) struct Due<W, V> {
    pub(in crate::task) host: VecDeque<Id>,
    pub(in crate::task) target: VecDeque<Id>,
    /// To be dropped without the lock on the graph, since it is not our code that is.
    pub(in crate::task) dropped: Vec<W>,
    /// What is in a queue behind something that has failed: nobody wants it.
    pub(in crate::task) unwanted: Vec<V>,
    /// Something that is waited for may have happened.
    pub(in crate::task) news: bool,
}

impl<W, V> Default for Due<W, V> {
    fn default() -> Self {
        Self {
            host: VecDeque::new(),
            target: VecDeque::new(),
            dropped: Vec::new(),
            unwanted: Vec::new(),
            news: false,
        }
    }
}
