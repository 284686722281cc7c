//! The floor: the time to pass a word to the other side and back through two words in memory. No
//! call is faster.

mod kernel;
mod threads;

use std::time::Duration;

use super::context::Bench;
use super::latency::Latency;
use super::options::FloorKind;
use super::report::{Floor, Rate};

/// The floor, and its measurements so far.
pub(crate) struct FloorCase {
    kind: FloorKind,
    cores: Option<[usize; 2]>,
    rates: Vec<f64>,
    latency: Latency,
    pinned: bool,
}

/// The result of a round.
struct Round {
    rate: f64,
    latency: Latency,
    pinned: bool,
}

impl FloorCase {
    /// A floor of this kind, or of the device's default kind.
    pub(crate) fn new(bench: &Bench, kind: Option<FloorKind>) -> anyhow::Result<Self> {
        let suits = if bench.is_host() {
            FloorKind::Threads
        } else {
            FloorKind::Kernel
        };
        Ok(Self {
            kind: kind.unwrap_or(suits),
            cores: bench.cores,
            rates: Vec::new(),
            latency: Latency::new()?,
            pinned: true,
        })
    }

    /// Measures once more, for `time`; returns the median time of these round trips.
    pub(crate) fn round(&mut self, bench: &Bench, time: Duration) -> anyhow::Result<u64> {
        bench.watchdog.at("the floor");
        let Round {
            rate,
            latency,
            pinned,
        } = match self.kind {
            FloorKind::Threads => threads::measure(self.cores, time)?,
            FloorKind::Kernel => kernel::measure(bench, time)?,
        };
        self.rates.push(rate);
        self.latency.merge(&latency)?;
        self.pinned &= pinned;
        Ok(latency.percentile(50.0))
    }

    /// The median time of a round trip; `None` if none was measured.
    pub(crate) fn p50_ns(&self) -> Option<u64> {
        (self.latency.len() > 0).then(|| self.latency.percentile(50.0))
    }

    /// The figures.
    pub(crate) fn figures(&self) -> Floor {
        Floor {
            kind: match self.kind {
                FloorKind::Threads => "threads",
                FloorKind::Kernel => "kernel",
            }
            .to_owned(),
            p50_ns: self.latency.percentile(50.0),
            p99_ns: self.latency.percentile(99.0),
            rate: Rate::of(&self.rates),
            cores: self.cores.filter(|_| self.pinned),
        }
    }
}
