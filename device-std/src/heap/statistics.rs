//! Counts allocations, if the launch asks for it. Otherwise an allocation costs one load more.
//!
//! No lock protects the numbers: a thread may report them while it holds the heap's, after a stack
//! overflow.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use std_calls::HeapStatistics;

// All accesses are relaxed: each number is exact by itself, and publishes nothing. `start` runs before
// other threads do.

/// Whether to count: 0 or 1.
static COUNTS: AtomicU32 = AtomicU32::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static PEAK_BYTES: AtomicU64 = AtomicU64::new(0);

/// Counts from now on.
pub(super) fn start() {
    COUNTS.store(1, Relaxed);
}

fn counts() -> bool {
    COUNTS.load(Relaxed) != 0
}

/// Memory of this size was allocated.
pub(super) fn allocated(size: usize) {
    if counts() {
        ALLOCATIONS.fetch_add(1, Relaxed);
        LIVE.fetch_add(1, Relaxed);
        add(size as u64);
    }
}

/// Memory of this size was freed.
pub(super) fn freed(size: usize) {
    if counts() {
        LIVE.fetch_sub(1, Relaxed);
        LIVE_BYTES.fetch_sub(size as u64, Relaxed);
    }
}

/// Memory was resized.
pub(super) fn resized(old: usize, new: usize) {
    if counts() {
        if new > old {
            add((new - old) as u64);
        } else {
            LIVE_BYTES.fetch_sub((old - new) as u64, Relaxed);
        }
    }
}

fn add(bytes: u64) {
    let live = LIVE_BYTES.fetch_add(bytes, Relaxed) + bytes;
    PEAK_BYTES.fetch_max(live, Relaxed);
}

/// Reports the numbers to the host, if there are any.
pub(crate) fn report() {
    if counts() {
        // The host reports a failed call; there is nothing else to do here.
        let _ = std_calls::std_heap_statistics(&HeapStatistics {
            allocations: ALLOCATIONS.load(Relaxed),
            live: LIVE.load(Relaxed),
            live_bytes: LIVE_BYTES.load(Relaxed),
            peak_bytes: PEAK_BYTES.load(Relaxed),
        });
    }
}
