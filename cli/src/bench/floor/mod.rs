//! The floor: what it takes to hand a word over and back, with nothing between the
//! two sides but two words. No call is faster.

mod kernel;
mod threads;

use super::context::Bench;
use super::latency::Latency;
use super::options::FloorKind;
use super::report::{Floor, Rate};

/// The floor, and what was measured of it so far.
pub(crate) struct FloorCase {
    kind: FloorKind,
    cores: Option<[usize; 2]>,
    rates: Vec<f64>,
    latency: Latency,
    pinned: bool,
}

/// What one round finds.
struct Round {
    rate: f64,
    latency: Latency,
    pinned: bool,
}

impl FloorCase {
    /// Of this kind, or as suits the device.
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

    /// Measures once more.
    pub(crate) fn round(&mut self, bench: &Bench) -> anyhow::Result<()> {
        bench.watchdog.at("the floor");
        let Round {
            rate,
            latency,
            pinned,
        } = match self.kind {
            FloorKind::Threads => threads::measure(self.cores, bench.time)?,
            FloorKind::Kernel => kernel::measure(bench)?,
        };
        self.rates.push(rate);
        self.latency.merge(&latency)?;
        self.pinned &= pinned;
        Ok(())
    }

    /// What was measured.
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
