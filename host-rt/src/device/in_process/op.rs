//! Operations of queues. The thread that completes the last dependency of an operation starts it,
//! so that no thread waits in between, however many are pending.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::device::{Event, EventState, Fault, Outcome, Running};

/// The work of an operation.
pub(in crate::device) trait Work: Send {
    /// Performs it; or starts it, returns `None`, and another thread [finishes](QueueOp::finish)
    /// `op`.
    fn begin(self: Box<Self>, op: &Arc<QueueOp>) -> Option<Outcome>;

    /// Called instead of [`begin`](Self::begin) if a dependency failed.
    fn give_up(self: Box<Self>) {}
}

/// An operation of a queue, or a place in it: an operation that does nothing.
pub(in crate::device) struct QueueOp {
    /// The number of unfinished dependencies, plus one during construction.
    missing: AtomicUsize,
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Default)]
struct State {
    /// Its work, until it begins.
    work: Option<Box<dyn Work>>,
    /// It has begun, or was cancelled before.
    has_begun: bool,
    /// The reason why a dependency failed.
    failed: Option<Fault>,
    /// Operations that depend on it, until it is over.
    next: Vec<Arc<QueueOp>>,
    /// The number of threads that sleep until it is over.
    sleepers: usize,
    outcome: Option<Outcome>,
}

impl QueueOp {
    /// An operation that begins when those `before` it are done: here, or on the thread that
    /// completes the last of them.
    pub(super) fn after(
        work: Option<Box<dyn Work>>,
        before: impl IntoIterator<Item = Arc<Self>>,
    ) -> Arc<Self> {
        let op = Arc::new(Self {
            missing: AtomicUsize::new(1),
            state: Mutex::new(State {
                work,
                ..State::default()
            }),
            over: Condvar::new(),
        });
        for before in before {
            // Relaxed: `arrive` orders the dependencies' effects.
            op.missing.fetch_add(1, Ordering::Relaxed);
            let mut state = before.state();
            match state.outcome.clone() {
                None => state.next.push(Arc::clone(&op)),
                Some(outcome) => {
                    op.arrive(&outcome);
                }
            }
        }
        if op.arrive(&Ok(())) {
            run(VecDeque::from([Arc::clone(&op)]));
        }
        op
    }

    /// An operation that is over.
    pub(super) fn over(outcome: Outcome) -> Arc<Self> {
        Arc::new(Self {
            missing: AtomicUsize::new(0),
            state: Mutex::new(State {
                has_begun: true,
                outcome: Some(outcome),
                ..State::default()
            }),
            over: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its outcome, once it is over.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.state().outcome.clone()
    }

    /// Records that a dependency is over; returns whether it was the last.
    fn arrive(&self, outcome: &Outcome) -> bool {
        if let Err(reason) = outcome {
            let mut state = self.state();
            state.failed.get_or_insert_with(|| reason.clone());
        }
        // AcqRel: the thread that begins it sees the effects of all dependencies.
        self.missing.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Ends it, and begins operations whose last dependency it was.
    pub(in crate::device) fn finish(&self, outcome: Outcome) {
        let mut ready = VecDeque::new();
        self.close(outcome, &mut ready);
        run(ready);
    }

    fn close(&self, outcome: Outcome, ready: &mut VecDeque<Arc<Self>>) {
        let mut state = self.state();
        state.outcome = Some(outcome.clone());
        let next = std::mem::take(&mut state.next);
        let has_sleepers = state.sleepers > 0;
        drop(state);
        // Waking is a system call even if no thread sleeps.
        if has_sleepers {
            self.over.notify_all();
        }
        ready.extend(next.into_iter().filter(|next| next.arrive(&outcome)));
    }

    /// Sleeps until it is over, at most until the deadline.
    pub(super) fn sleep(&self, until: Option<Instant>) -> Option<Outcome> {
        let mut state = self.state();
        while state.outcome.is_none() {
            let left = match until {
                Some(until) => Some(until.checked_duration_since(Instant::now())?),
                None => None,
            };
            state.sleepers += 1;
            state = match left {
                None => self
                    .over
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.over.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.sleepers -= 1;
        }
        state.outcome.clone()
    }
}

/// Begins ready operations, and those that become ready by that. A loop, since a chain may have any
/// length.
fn run(mut ready: VecDeque<Arc<QueueOp>>) {
    while let Some(op) = ready.pop_front() {
        let mut state = op.state();
        if std::mem::replace(&mut state.has_begun, true) {
            continue;
        }
        let (work, failed) = (state.work.take(), state.failed.take());
        drop(state);
        let outcome = match (work, failed) {
            (Some(work), None) => work.begin(&op),
            (Some(work), Some(reason)) => {
                work.give_up();
                Some(Err(reason.not_run()))
            }
            (None, None) => Some(Ok(())),
            (None, Some(reason)) => Some(Err(reason)),
        };
        if let Some(outcome) = outcome {
            op.close(outcome, &mut ready);
        }
    }
}

impl Event for QueueOp {
    fn check(&self) -> EventState {
        self.outcome().into()
    }

    fn sync(&self) -> Outcome {
        loop {
            if let Some(outcome) = Running::wait(self, None) {
                return outcome;
            }
        }
    }

    fn cancel(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.has_begun, true) {
            return;
        }
        let work = state.work.take();
        drop(state);
        if let Some(work) = work {
            work.give_up();
        }
        self.finish(Err(Fault::from("it was cancelled").not_run()));
    }
}

impl Running for QueueOp {
    fn is_done(&self) -> bool {
        self.state().outcome.is_some()
    }

    fn wait(&self, until: Option<Instant>) -> Option<Outcome> {
        self.sleep(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the order in which operations begin.
    struct Count(Arc<Mutex<Vec<usize>>>, usize);

    impl Work for Count {
        fn begin(self: Box<Self>, _op: &Arc<QueueOp>) -> Option<Outcome> {
            self.0.lock().unwrap().push(self.1);
            Some(Ok(()))
        }
    }

    /// Finished by another thread.
    struct Elsewhere;

    impl Work for Elsewhere {
        fn begin(self: Box<Self>, _op: &Arc<QueueOp>) -> Option<Outcome> {
            None
        }
    }

    fn chain(length: usize) -> (Arc<QueueOp>, Arc<QueueOp>, Arc<Mutex<Vec<usize>>>) {
        let first = QueueOp::after(Some(Box::new(Elsewhere)), []);
        let order = Arc::<Mutex<Vec<usize>>>::default();
        let mut last = Arc::clone(&first);
        for at in 0..length {
            let count = Count(Arc::clone(&order), at);
            last = QueueOp::after(Some(Box::new(count)), [last]);
        }
        (first, last, order)
    }

    #[test]
    fn a_chain_of_any_length_is_done_in_order() {
        let (first, last, order) = chain(100_000);
        assert_eq!(last.check(), EventState::Pending);
        assert!(order.lock().unwrap().is_empty());
        first.finish(Ok(()));
        assert_eq!(last.check(), EventState::Done);
        assert!(order.lock().unwrap().iter().copied().eq(0..100_000));
    }

    #[test]
    fn a_failure_goes_all_the_way_and_runs_nothing() {
        let (first, last, order) = chain(1000);
        let place = QueueOp::after(None, [Arc::clone(&first)]);
        first.finish(Err("it broke".into()));
        let expected = Fault::NotRun("it broke".into());
        assert_eq!(last.check(), EventState::Failed(expected));
        assert_eq!(place.sync(), Err("it broke".into()), "a place is not run");
        assert!(order.lock().unwrap().is_empty());
    }

    #[test]
    fn what_has_not_begun_can_be_cancelled() {
        let (first, last, order) = chain(2);
        let between = QueueOp::after(None, [Arc::clone(&first)]);
        let behind = QueueOp::after(
            Some(Box::new(Count(Arc::clone(&order), 9))),
            [between.clone()],
        );
        // The operation has begun.
        first.cancel();
        assert_eq!(first.check(), EventState::Pending);
        between.cancel();
        assert!(matches!(behind.check(), EventState::Failed(_)));
        assert_eq!(last.check(), EventState::Pending);
        first.finish(Ok(()));
        assert!(matches!(between.check(), EventState::Failed(_)));
        assert_eq!(last.check(), EventState::Done);
        assert_eq!(*order.lock().unwrap(), [0, 1]);
    }

    #[test]
    fn the_last_of_several_begins_it() {
        let all = [(); 3].map(|()| QueueOp::after(Some(Box::new(Elsewhere)), []));
        let place = QueueOp::after(None, all.clone());
        for op in &all {
            assert_eq!(place.check(), EventState::Pending);
            op.finish(Ok(()));
        }
        assert_eq!(place.check(), EventState::Done);
    }
}
