//! Times of calls, put together from those of all device threads.

use anyhow::Context;
use bench_calls::buckets;
use hdrhistogram::Histogram;

/// A minute and more than any call takes; the buckets end there too.
const LONGEST: u64 = 1 << 37;

/// Times of calls, exact to about a thousandth.
pub(crate) struct Latency(Histogram<u64>);

impl Latency {
    /// No times.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(Histogram::new_with_max(LONGEST, 3)?))
    }

    /// Adds what a thread counted in [`buckets`].
    pub(crate) fn add_buckets(&mut self, counts: &[u32]) -> anyhow::Result<()> {
        for (bucket, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            self.0.record_n(buckets::shortest(bucket), count.into())?;
        }
        Ok(())
    }

    /// Adds single times.
    pub(crate) fn add(&mut self, times: &[u64]) -> anyhow::Result<()> {
        for &time in times {
            self.0
                .record(time)
                .with_context(|| format!("a call that took {time} ns"))?;
        }
        Ok(())
    }

    /// Adds other times.
    pub(crate) fn merge(&mut self, other: &Self) -> anyhow::Result<()> {
        Ok(self.0.add(&other.0)?)
    }

    /// Calls that were timed.
    pub(crate) fn len(&self) -> u64 {
        self.0.len()
    }

    /// The time, in nanoseconds, that `percent` of the calls did not exceed.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        self.0.value_at_percentile(percent)
    }
}
