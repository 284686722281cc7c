//! The number of requests taken, and whether the standby ticks: in one word, so that each change of
//! either has a place among all changes of both.

use super::super::sync::{AtomicU64, Ordering};

/// The standby ticks. The bits above count requests.
const TICKS: u64 = 1;

/// All accesses are relaxed: the word orders nothing but itself, and each decision is made by a
/// read-modify-write, which meets the latest value.
pub(super) struct Progress(AtomicU64);

impl Progress {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a request. After this, [`is_ticking`](Self::is_ticking) is true on this thread only if
    /// the standby will notice the request before it stops to tick.
    pub(super) fn count(&self) {
        self.0.fetch_add(2, Ordering::Relaxed);
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> 1
    }

    pub(super) fn is_ticking(&self) -> bool {
        self.0.load(Ordering::Relaxed) & TICKS != 0
    }

    pub(super) fn start_ticking(&self) {
        self.0.fetch_or(TICKS, Ordering::Relaxed);
    }

    pub(super) fn stop_ticking(&self) {
        self.0.fetch_and(!TICKS, Ordering::Relaxed);
    }

    /// Stops to tick, unless there are other than these requests by now.
    pub(super) fn stop_ticking_at(&self, requests: u64) -> bool {
        let ticking = requests << 1 | TICKS;
        let stopped = self.0.compare_exchange(
            ticking,
            ticking & !TICKS,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        stopped.is_ok()
    }
}
