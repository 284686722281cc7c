//! Waiting for events that ROCr's threads report for a device.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::base::lock::{lock, wait};

/// Wakes the threads that wait for signals of a device, or for its loss.
#[derive(Default)]
pub(super) struct Notifier {
    mutex: Mutex<()>,
    condvar: Condvar,
}

impl Notifier {
    /// Wakes all waiting threads, to check their conditions.
    pub(super) fn notify(&self) {
        // Locked, so that a thread that has just checked its condition already waits and is woken.
        let _locked = lock(&self.mutex);
        self.condvar.notify_all();
    }

    /// Waits until `is_so`, for whose changes [`notify`](Self::notify) is called, or until a
    /// deadline.
    pub(super) fn wait(&self, until: Option<Instant>, is_so: impl Fn() -> bool) {
        let mut locked = lock(&self.mutex);
        while !is_so() {
            locked = match until {
                None => wait(&self.condvar, locked),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    let waited = self.condvar.wait_timeout(locked, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
