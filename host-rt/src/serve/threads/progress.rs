//! The number of requests taken, and whether the standby ticks: in one word, so that all changes of
//! the two have one order.

use crate::base::sync::{AtomicU64, Ordering};

/// Set while the standby ticks. The bits above count requests.
const TICKING: u64 = 1;

/// All accesses are relaxed: the word orders nothing else. The standby decides to stop by a
/// read-modify-write, which reads the latest value. A thread that enters a function decides by a
/// load, but has counted its request before.
pub(super) struct Progress(AtomicU64);

impl Progress {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a request. After this, [`is_ticking`](Self::is_ticking) is true on this thread only
    /// if the standby will notice the request before it stops ticking.
    pub(super) fn count(&self) {
        self.0.fetch_add(2, Ordering::Relaxed);
    }

    /// The number of requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> 1
    }

    pub(super) fn is_ticking(&self) -> bool {
        self.0.load(Ordering::Relaxed) & TICKING != 0
    }

    pub(super) fn start_ticking(&self) {
        self.0.fetch_or(TICKING, Ordering::Relaxed);
    }

    pub(super) fn stop_ticking(&self) {
        self.0.fetch_and(!TICKING, Ordering::Relaxed);
    }

    /// Stops ticking if the number of requests is still `requests`; returns whether it did.
    pub(super) fn stop_ticking_at(&self, requests: u64) -> bool {
        let ticking = requests << 1 | TICKING;
        let stopped = self.0.compare_exchange(
            ticking,
            ticking & !TICKING,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        stopped.is_ok()
    }
}
