//! Requirements of programs on all devices.

use std::sync::atomic::{AtomicU64, Ordering};

/// OpenMP's `requires unified_shared_memory`.
const UNIFIED_SHARED_MEMORY: u64 = 0x8;

/// The requirements of all programs.
static REQUIREMENTS: AtomicU64 = AtomicU64::new(0);

/// Adds the requirements of a program: OpenMP's flags.
pub(super) fn add(flags: u64) {
    // Relaxed: see where it is read.
    REQUIREMENTS.fetch_or(flags, Ordering::Relaxed);
}

/// Whether devices work in the host's memory.
pub(crate) fn is_memory_shared() -> bool {
    // Relaxed: constructors of the program register it before it uses a device.
    REQUIREMENTS.load(Ordering::Relaxed) & UNIFIED_SHARED_MEMORY != 0
}
