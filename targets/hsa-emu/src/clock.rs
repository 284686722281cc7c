//! The system's clock, which counts nanoseconds.

use std::sync::LazyLock;
use std::time::Instant;

/// Its ticks in a second.
pub(crate) const FREQUENCY: u64 = 1_000_000_000;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Its value, which is never 0.
pub(crate) fn now() -> u64 {
    START.elapsed().as_nanos() as u64 + 1
}
