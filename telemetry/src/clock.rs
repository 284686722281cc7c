//! The clocks, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// The system's monotonic clock, which all processes of a machine share.
pub(crate) fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// The same at the system's last tick, which takes less time to read.
pub(crate) fn last_tick() -> u64 {
    nanoseconds(ClockId::MonotonicCoarse)
}
