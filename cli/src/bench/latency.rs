//! Times of calls, merged from all device threads.

use bench_calls::buckets;
use hdrhistogram::Histogram;

/// More than two minutes, longer than any call takes.
const MAX_NANOSECONDS: u64 = 1 << 37;

/// Times of calls in nanoseconds, exact to about a thousandth.
pub(crate) struct Latency(Histogram<u64>);

impl Latency {
    /// No times.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(Histogram::new_with_max(MAX_NANOSECONDS, 3)?))
    }

    /// Adds a thread's counts in [`buckets`], whose ticks last `tick_ns` nanoseconds.
    pub(crate) fn add_buckets(&mut self, counts: &[u32], tick_ns: f64) {
        for (bucket, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let ns = in_ns(buckets::shortest(bucket), tick_ns);
            self.0.saturating_record_n(ns, count.into());
        }
    }

    /// Adds single times in ticks of `tick_ns` nanoseconds.
    pub(crate) fn add(&mut self, times: &[u64], tick_ns: f64) {
        for &time in times {
            self.0.saturating_record(in_ns(time, tick_ns));
        }
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

fn in_ns(ticks: u64, tick_ns: f64) -> u64 {
    (ticks as f64 * tick_ns).round() as u64
}

/// The length of a tick, from the spans that threads measured by the clock and in ticks.
pub(crate) fn tick_ns(spans: &[[u64; 2]]) -> anyhow::Result<f64> {
    let sum = |index: usize| spans.iter().map(|span| span[index] as f64).sum::<f64>();
    let (ns, ticks) = (sum(0), sum(1));
    anyhow::ensure!(
        ns > 0.0 && ticks > 0.0,
        "the device's clock or its ticks stand still ({ns} ns, {ticks} ticks while a kernel ran)"
    );
    Ok(ns / ticks)
}

#[cfg(test)]
mod tests {
    use super::{Latency, tick_ns};
    use bench_calls::buckets;

    #[test]
    fn ticks_become_nanoseconds() {
        let tick = tick_ns(&[[500, 1000], [500, 1000]]).unwrap();
        let mut latency = Latency::new().unwrap();
        let mut counts = vec![0; buckets::COUNT];
        counts[buckets::bucket(1000)] = 3;
        latency.add_buckets(&counts, tick);
        latency.add(&[7000], tick);
        assert_eq!(latency.len(), 4);
        assert_eq!(latency.percentile(50.0), 500);
        assert!(latency.percentile(99.0).abs_diff(3500) <= 4);
        assert!(tick_ns(&[[0, 0]]).is_err());
    }
}
