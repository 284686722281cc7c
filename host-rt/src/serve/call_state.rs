//! Which thread completes a call: the one that runs its function, or one that aborts its launch.
//!
//! | from | event | to | the call is completed by |
//! |---|---|---|---|
//! | idle | the function begins | running | |
//! | running | the function returns | idle | the thread that ran it |
//! | running | another thread aborts the call | aborted | that thread |
//! | aborted | the function returns | idle | |
//!
//! tests/model explores it, without the order of a load before a later store (`end` and `abort`), which
//! loom does not explore.
//!
//! The calls of a thread are numbered, so that a thread that aborts one call does not abort the next.

use crate::base::sync::{AtomicU64, Ordering, fence};

const RUNNING: u64 = 1;
const ABORTED: u64 = 2;
/// The other bits are the call's number.
const PHASE: u64 = 3;

/// The state of the calls that one thread runs.
#[derive(Debug)]
pub(super) struct CallState(AtomicU64);

/// A call that was running.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningCall(u64);

impl CallState {
    /// No call.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Begins a call, on the thread that runs it. Its record is complete. The caller then checks
    /// whether the launch is aborted.
    pub(super) fn begin(&self) {
        // Relaxed: only this thread changes an idle state.
        let idle = self.0.load(Ordering::Relaxed);
        // Release: a thread that sees the call sees its record.
        self.0.store(idle | RUNNING, Ordering::Release);
        // Either the caller's check after this fence sees that the launch is aborted, or the thread
        // that aborts it sees the call after its own fence.
        fence(Ordering::SeqCst);
    }

    /// Ends the call, on the thread that runs it: `true` if this thread completes it.
    pub(super) fn end(&self) -> bool {
        // Relaxed: other threads only change the phase.
        let running = self.0.load(Ordering::Relaxed);
        let next = (running | PHASE).wrapping_add(1);
        // Acquire, with the release in `abort`: the next record is written after the loads of a
        // thread that has aborted this call. Release: a thread that sees the new state cannot abort
        // this call, and has nothing else to see.
        self.0.swap(next, Ordering::AcqRel) & PHASE == RUNNING
    }

    /// The call that is running, if any. Read its record between this and [`abort`](Self::abort).
    pub(super) fn running(&self) -> Option<RunningCall> {
        // Acquire: see `begin`.
        let state = self.0.load(Ordering::Acquire);
        (state & PHASE == RUNNING).then_some(RunningCall(state))
    }

    /// Whether the call has been aborted and its function has not returned.
    pub(super) fn is_aborted(&self) -> bool {
        // Relaxed: no other memory depends on it.
        self.0.load(Ordering::Relaxed) & PHASE == ABORTED
    }

    /// Aborts a call: `true` if the calling thread completes it. Then the record that it has read is
    /// that of the call.
    pub(super) fn abort(&self, RunningCall(running): RunningCall) -> bool {
        let aborted = running ^ RUNNING ^ ABORTED;
        // Release: see `end`. Relaxed on failure: the call has ended, and the record is not used.
        self.0
            .compare_exchange(running, aborted, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}
