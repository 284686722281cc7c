//! Evidence that more than one caller needs the host. Without it no thread is woken to poll: a
//! serial caller would wait for that, and nobody would gain.

use super::super::sync::{AtomicU32, Ordering};

/// Requests without further evidence after which it is forgotten.
const LASTS: u32 = 64;

/// Requests in a row that have to be there when a thread comes back from a function. One can be
/// that of a serial caller, if the thread was interrupted on its way.
const IN_A_ROW: u32 = 2;

/// All accesses are relaxed: the decisions are advisory. Only the holder of the poll token writes
/// `left` and `in_a_row`.
pub(super) struct Evidence {
    /// Threads in slow functions.
    slow: AtomicU32,
    /// Requests for which the evidence lasts.
    left: AtomicU32,
    /// Requests so far that were there when a thread came back.
    in_a_row: AtomicU32,
}

impl Evidence {
    pub(super) fn new() -> Self {
        Self {
            slow: AtomicU32::new(0),
            left: AtomicU32::new(0),
            in_a_row: AtomicU32::new(0),
        }
    }

    /// A request is taken; `waited` if it was there when this thread came back from a function.
    pub(super) fn request(&self, waited: bool) {
        let in_a_row = match waited {
            true => self.in_a_row.load(Ordering::Relaxed).saturating_add(1),
            false => 0,
        };
        self.in_a_row.store(in_a_row, Ordering::Relaxed);
        let left = if self.slow.load(Ordering::Relaxed) > 0 || in_a_row >= IN_A_ROW {
            LASTS
        } else {
            self.left.load(Ordering::Relaxed).saturating_sub(1)
        };
        self.left.store(left, Ordering::Relaxed);
    }

    /// Whether there is any.
    pub(super) fn exists(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// A thread enters a slow function.
    pub(super) fn enter(&self) {
        self.slow.fetch_add(1, Ordering::Relaxed);
    }

    /// It has returned; its caller does not know yet.
    pub(super) fn leave(&self) {
        self.slow.fetch_sub(1, Ordering::Relaxed);
    }
}
