//! Whether anything has happened on the device.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of the last event on the device for which threads may wait.
#[derive(Debug)]
pub struct Activity {
    start: Instant,
    /// In milliseconds since `start`.
    last: AtomicU64,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(0),
        }
    }
}

impl Activity {
    /// Notes an event now.
    pub fn note(&self) {
        let now = self.start.elapsed().as_millis() as u64;
        // Relaxed: advisory, it orders nothing.
        self.last.store(now, Ordering::Relaxed);
    }

    /// Whether the last event is more recent than `within`.
    #[must_use]
    pub fn is_recent(&self, within: Duration) -> bool {
        // Relaxed: as above.
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last) < within
    }
}
