//! A flag by which threads announce changes to the poller.

use crate::base::sync::{AtomicBool, Ordering};

/// Whether something was changed since the flag was last taken.
pub(super) struct ChangeFlag(AtomicBool);

impl ChangeFlag {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Announces a change that this thread has made.
    pub(super) fn set(&self) {
        // Release: the thread that takes the flag sees the change. A read-modify-write, so that it
        // also sees the changes of threads whose flag was still set.
        self.0.swap(true, Ordering::Release);
    }

    /// Resets the flag; returns whether it was set. The caller then sees all announced changes. A
    /// change that is announced later sets the flag again.
    pub(super) fn take(&self) -> bool {
        // Relaxed: a later call sees a flag that this one misses. Acquire: see `set`.
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Acquire)
    }
}
