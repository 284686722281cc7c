//! What somebody knows of everybody's past.

use std::collections::{BTreeSet, HashMap};

use super::Thread;

/// A vector clock: of each thread, up to which time it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    threads: HashMap<Thread, u64>,
    /// Launches that are known from beginning to end.
    ended: BTreeSet<u64>,
    /// Up to when the host's actions are known, in ticks.
    pub(super) host: u64,
}

impl Clock {
    pub(super) fn knows(&self, thread: Thread, time: u64) -> bool {
        self.threads
            .get(&thread)
            .is_some_and(|&known| known >= time)
            || self.ended.contains(&thread.launch)
    }

    pub(super) fn learn(&mut self, thread: Thread, time: u64) {
        let known = self.threads.entry(thread).or_default();
        *known = time.max(*known);
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (&thread, &time) in &other.threads {
            self.learn(thread, time);
        }
        self.ended.extend(&other.ended);
        self.host = self.host.max(other.host);
    }

    /// All that a launch did is known.
    pub(super) fn end(&mut self, launch: u64) {
        self.threads.retain(|thread, _| thread.launch != launch);
        self.ended.insert(launch);
    }
}
