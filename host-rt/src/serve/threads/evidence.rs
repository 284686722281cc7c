//! Evidence that more than one caller needs the host. Without evidence, no thread is woken to poll:
//! a serial caller would wait for the wake-up, and no other caller would benefit.

use crate::base::sync::{AtomicU32, Ordering};

/// Requests for which evidence lasts.
const LIFETIME: u32 = 64;

/// Consecutive requests that count as evidence if each was waiting when a thread returned from a
/// function. One alone may be a serial caller's, if the thread was interrupted before its poll.
const MIN_CONSECUTIVE: u32 = 2;

/// All accesses are relaxed: the decisions are advisory. Only the holder of the poll token writes
/// `remaining` and `consecutive`.
pub(super) struct Evidence {
    /// Threads in slow functions.
    slow: AtomicU32,
    /// Remaining requests for which the evidence lasts.
    remaining: AtomicU32,
    /// Consecutive requests so far that were waiting when a thread returned from a function.
    consecutive: AtomicU32,
}

impl Evidence {
    pub(super) fn new() -> Self {
        Self {
            slow: AtomicU32::new(0),
            remaining: AtomicU32::new(0),
            consecutive: AtomicU32::new(0),
        }
    }

    /// Counts a taken request; `waited` if it was waiting when this thread returned from a
    /// function, `has_ready` if another one was ready when it was taken.
    pub(super) fn request(&self, waited: bool, has_ready: bool) {
        let consecutive = match waited {
            true => self.consecutive.load(Ordering::Relaxed).saturating_add(1),
            false => 0,
        };
        self.consecutive.store(consecutive, Ordering::Relaxed);
        let is_evidence =
            has_ready || consecutive >= MIN_CONSECUTIVE || self.slow.load(Ordering::Relaxed) > 0;
        let remaining = if is_evidence {
            LIFETIME
        } else {
            self.remaining.load(Ordering::Relaxed).saturating_sub(1)
        };
        self.remaining.store(remaining, Ordering::Relaxed);
    }

    /// Whether there is evidence.
    pub(super) fn exists(&self) -> bool {
        self.remaining.load(Ordering::Relaxed) > 0
    }

    /// Counts a thread that enters a slow function.
    pub(super) fn enter(&self) {
        self.slow.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a thread whose slow function has returned, before its request is completed.
    pub(super) fn leave(&self) {
        self.slow.fetch_sub(1, Ordering::Relaxed);
    }
}
