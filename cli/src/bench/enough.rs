//! Enough calls for a figure, also on a busy machine.

use std::time::Duration;

use host_rt::targets::count::Count;

/// Least calls of a figure.
pub(super) const ENOUGH: u64 = 100;

/// Measures for `time`, and again for longer if the machine is too busy for [`ENOUGH`] calls.
pub(crate) fn enough<T>(
    mut time: Duration,
    what: &str,
    mut measure: impl FnMut(Duration) -> anyhow::Result<(u64, T)>,
) -> anyhow::Result<T> {
    let mut last = 0;
    for _ in 0..6 {
        let (calls, measured) = measure(time)?;
        if calls >= ENOUGH {
            return Ok(measured);
        }
        last = calls;
        time *= 2;
    }
    anyhow::bail!(
        "only {} could be {what} within {:?}: the device or the machine is too busy",
        Count(last, "call"),
        time / 2
    )
}
