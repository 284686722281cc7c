//! The floor: what it takes to hand a word over and back, with nothing between the
//! two sides but two words. No call is faster.

mod kernel;
mod threads;

use clap::ValueEnum;

use super::context::Bench;
use super::latency::Latency;
use super::rates;
use super::report::Floor;

/// Who hands the word over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Two threads of this machine.
    Threads,
    /// A kernel, and a thread of this machine.
    Kernel,
}

/// The floor, and what was measured of it so far.
pub(crate) struct FloorCase {
    kind: Kind,
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
    pub(crate) fn new(bench: &Bench, kind: Option<Kind>) -> anyhow::Result<Self> {
        let suits = if bench.is_host() {
            Kind::Threads
        } else {
            Kind::Kernel
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
            Kind::Threads => threads::measure(self.cores, bench.time)?,
            Kind::Kernel => kernel::measure(bench)?,
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
                Kind::Threads => "threads",
                Kind::Kernel => "kernel",
            }
            .to_owned(),
            p50_ns: self.latency.percentile(50.0),
            p99_ns: self.latency.percentile(99.0),
            rate: rates(&self.rates),
            cores: self.cores.filter(|_| self.pinned),
        }
    }
}
