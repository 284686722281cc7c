//! Vector clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Thread;

/// A vector clock: for each thread, the time up to which it has been observed.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// By launch and block. Equal clocks are shared.
    blocks: BTreeMap<(u64, u64), Arc<Vec<u64>>>,
    /// Launches that have been observed entirely.
    ended: BTreeSet<u64>,
    /// The tick up to which the host has been observed.
    pub(super) host: u64,
}

impl Clock {
    pub(super) fn knows(&self, thread: Thread, time: u64) -> bool {
        let times = self.blocks.get(&(thread.launch, thread.block));
        let known = times.and_then(|times| times.get(thread.thread as usize));
        known.is_some_and(|&known| known >= time) || self.ended.contains(&thread.launch)
    }

    pub(super) fn learn(&mut self, thread: Thread, time: u64) {
        let block = self.blocks.entry((thread.launch, thread.block));
        let times = Arc::make_mut(block.or_default());
        let at = thread.thread as usize;
        if times.len() <= at {
            times.resize(at + 1, 0);
        }
        times[at] = time.max(times[at]);
    }

    /// Sets what it knows of a thread, which may be less than before.
    pub(super) fn limit(&mut self, thread: Thread, time: u64) {
        self.learn(thread, 0);
        let times = self.blocks.entry((thread.launch, thread.block));
        Arc::make_mut(times.or_default())[thread.thread as usize] = time;
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (&block, theirs) in &other.blocks {
            let ours = self.blocks.entry(block).or_default();
            if !Arc::ptr_eq(ours, theirs) {
                join(ours, theirs);
            }
        }
        self.ended.extend(&other.ended);
        self.host = self.host.max(other.host);
    }

    /// A launch has been observed entirely.
    pub(super) fn end(&mut self, launch: u64) {
        self.blocks.retain(|&(of, _), _| of != launch);
        self.ended.insert(launch);
    }
}

/// The later of each two times, with few copies.
fn join(ours: &mut Arc<Vec<u64>>, theirs: &Arc<Vec<u64>>) {
    let is_within =
        |a: &[u64], b: &[u64]| a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| a <= b);
    if is_within(theirs, ours) {
        return;
    }
    if is_within(ours, theirs) {
        *ours = Arc::clone(theirs);
        return;
    }
    let times = Arc::make_mut(ours);
    if times.len() < theirs.len() {
        times.resize(theirs.len(), 0);
    }
    for (time, &other) in times.iter_mut().zip(theirs.iter()) {
        *time = other.max(*time);
    }
}
