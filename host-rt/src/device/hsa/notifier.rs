//! Waiting for what ROCr's threads report of a device.

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
    /// Something has changed.
    pub(super) fn notify(&self) {
        // Locked: who has just looked waits by now, and hears this.
        let _locked = lock(&self.mutex);
        self.condvar.notify_all();
    }

    /// Waits until `is_so`, which [`notify`](Self::notify) follows, or until then.
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
