//! Measuring until there are enough calls for a figure, also on a busy machine.

use std::time::Duration;

use revoff_host::targets::count::Count;

/// Least calls of a figure.
pub(super) const ENOUGH: u64 = 100;

/// A busy machine gets this long for one figure, however short the measurement was meant to be.
const MAX_TIME: Duration = Duration::from_secs(25);

/// Measures for `time`, and again for twice as long while the machine is too busy for [`ENOUGH`]
/// calls: up to 32 times as long, or [`MAX_TIME`].
pub(crate) fn enough<T>(
    time: Duration,
    what: &str,
    mut measure: impl FnMut(Duration) -> anyhow::Result<(u64, T)>,
) -> anyhow::Result<T> {
    let longest = MAX_TIME.max(time * 32);
    let mut window = time;
    loop {
        let (calls, measured) = measure(window)?;
        if calls >= ENOUGH {
            return Ok(measured);
        }
        if window * 2 > longest {
            anyhow::bail!(
                "only {} could be {what} within {window:?}: the device or the machine is too busy",
                Count(calls, "call"),
            );
        }
        window *= 2;
    }
}
