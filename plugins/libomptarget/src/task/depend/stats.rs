//! Counts of dependences between target tasks, by whether the device or the host resolved them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::report::message;
use crate::settings::{self, Info};

static BY_DEVICE: AtomicU64 = AtomicU64::new(0);
static BY_HOST: AtomicU64 = AtomicU64::new(0);

/// Counts the dependences of one task.
pub(super) fn count(by_device: usize, by_host: usize) {
    // Relaxed: sums by themselves.
    BY_DEVICE.fetch_add(by_device as u64, Ordering::Relaxed);
    BY_HOST.fetch_add(by_host as u64, Ordering::Relaxed);
}

/// Reports the sums, if there are any, with the launches.
pub(crate) fn report_stats() {
    // Relaxed: see `count`.
    let by_device = BY_DEVICE.load(Ordering::Relaxed);
    let by_host = BY_HOST.load(Ordering::Relaxed);
    if by_device + by_host > 0 && settings::info().has(Info::LAUNCHES) {
        message::about(&format!(
            "dependences between target tasks: {by_device} resolved by devices, {by_host} by the host"
        ));
    }
}
