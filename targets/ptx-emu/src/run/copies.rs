//! Asynchronous copies of a block that have not happened.
//!
//! A copy happens as late as a program allows: when a thread waits for it, or tests the `mbarrier` that
//! tracks it, or ends. So a program that reads the data too early does not find it.

use std::collections::{BTreeMap, VecDeque};

use race_check::Site;

use crate::code::op::AtomOp;

/// A thread of the block: its warp and its lane.
pub(super) type ThreadId = (u32, usize);

/// A place of a copy: in global memory, or in shared memory by its offset.
#[derive(Clone, Copy, Debug)]
pub(super) enum CopyAddress {
    Global(u64),
    Shared(u64),
}

/// An operation that a thread has begun.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    Copy {
        to: CopyAddress,
        from: CopyAddress,
        bytes: u32,
        /// Bytes that are copied; the others are zeroed.
        source_bytes: u32,
        /// The instruction that began it, for the checker.
        site: Site,
    },
    /// The words of a store, of `bytes` each.
    Store {
        to: u64,
        words: Box<[u64]>,
        bytes: u32,
        op: Option<AtomOp>,
        site: Site,
    },
    /// The copies before it are a group.
    Commit,
    /// After the copies before it, the thread arrives at the `mbarrier`.
    Arrive { mbarrier: u64 },
}

/// A copy or a store whose bytes an `mbarrier` counts.
#[derive(Clone, Debug)]
pub(super) struct TrackedCopy {
    pub(super) mbarrier: u64,
    pub(super) thread: ThreadId,
    pub(super) bytes: u64,
    pub(super) what: Pending,
}

/// A queue of a thread: bulk copies have groups of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QueueKind {
    CpAsync,
    Bulk,
}

/// The most that a thread has begun and that has not happened.
const MAX_PENDING: usize = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Copies {
    queues: BTreeMap<(ThreadId, QueueKind), VecDeque<Pending>>,
    counted: VecDeque<TrackedCopy>,
}

impl Copies {
    /// Adds what a thread has begun. Returns what must happen now, if the thread has begun too much.
    pub(super) fn push(
        &mut self,
        thread: ThreadId,
        kind: QueueKind,
        pending: Pending,
    ) -> Option<Pending> {
        let queue = self.queues.entry((thread, kind)).or_default();
        if queue.is_empty() && matches!(pending, Pending::Commit) {
            // An empty group is complete, and no other is before it.
            return None;
        }
        queue.push_back(pending);
        (queue.len() > MAX_PENDING).then(|| queue.pop_front())?
    }

    /// Whether a thread has begun small copies that have not happened.
    pub(super) fn has_copies(&self, thread: ThreadId) -> bool {
        let queue = self.queues.get(&(thread, QueueKind::CpAsync));
        let is_copy = |it: &Pending| matches!(it, Pending::Copy { .. });
        queue.is_some_and(|queue| queue.iter().any(is_copy))
    }

    /// The same for a copy or store whose bytes are counted.
    pub(super) fn count(&mut self, counted: TrackedCopy) -> Option<TrackedCopy> {
        self.counted.push_back(counted);
        (self.counted.len() > MAX_PENDING).then(|| self.counted.pop_front())?
    }

    /// Takes what must happen so that at most `pending` groups of a thread are left.
    pub(super) fn take_groups(
        &mut self,
        thread: ThreadId,
        kind: QueueKind,
        pending: u64,
    ) -> Vec<Pending> {
        let Some(queue) = self.queues.get_mut(&(thread, kind)) else {
            return Vec::new();
        };
        let is_commit = |(_, it): &(usize, &Pending)| matches!(it, Pending::Commit);
        let commits = queue.iter().enumerate().filter(is_commit);
        let commits: Vec<usize> = commits.map(|(at, _)| at).collect();
        let awaited = (commits.len() as u64).saturating_sub(pending);
        match awaited.checked_sub(1) {
            None => Vec::new(),
            Some(last) => queue.drain(..=commits[last as usize]).collect(),
        }
    }

    /// Takes all that a thread has begun.
    pub(super) fn take_all(&mut self, thread: ThreadId, kind: QueueKind) -> Vec<Pending> {
        let queue = self.queues.remove(&(thread, kind));
        queue.map(Vec::from).unwrap_or_default()
    }

    /// Takes what must happen before an `mbarrier` has all arrivals of copies, with its threads.
    pub(super) fn take_arrivals(&mut self, mbarrier: u64) -> Vec<(ThreadId, Vec<Pending>)> {
        let is_its =
            |it: &Pending| matches!(it, Pending::Arrive { mbarrier: at } if *at == mbarrier);
        let mut taken = Vec::new();
        for (&(thread, _), queue) in &mut self.queues {
            if let Some(last) = queue.iter().rposition(is_its) {
                taken.push((thread, queue.drain(..=last).collect()));
            }
        }
        taken
    }

    /// Takes the copies whose bytes an `mbarrier` counts.
    pub(super) fn take_counted(&mut self, mbarrier: u64) -> Vec<TrackedCopy> {
        let is_its = |it: &TrackedCopy| it.mbarrier == mbarrier;
        extract(&mut self.counted, is_its)
    }

    /// Takes those that a thread has begun.
    pub(super) fn take_counted_of(&mut self, thread: ThreadId) -> Vec<TrackedCopy> {
        let is_its = |it: &TrackedCopy| it.thread == thread;
        extract(&mut self.counted, is_its)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.counted.is_empty()
    }
}

/// Takes the elements for which a function holds.
fn extract(
    all: &mut VecDeque<TrackedCopy>,
    is_its: impl Fn(&TrackedCopy) -> bool,
) -> Vec<TrackedCopy> {
    let (taken, rest): (Vec<_>, Vec<_>) = all.drain(..).partition(is_its);
    *all = rest.into();
    taken
}
