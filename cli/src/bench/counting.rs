//! Counting what the calls of a launch do on the bus.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use revoff_host::bus_cost::{Costs, CountCosts};
use revoff_host::targets::DeviceArch;
use revoff_host::{Builder, Runtime};

use super::context::Bench;

/// Calls of each device thread. The average is exact if each call costs the same.
pub(super) const CALLS: u64 = 64;

/// Device threads, of one team: a lane alone, and a warp.
pub(super) const THREADS: [u32; 2] = [1, 32];

/// The costs of one kind of call.
pub(super) struct Counted {
    pub(super) wire: &'static str,
    pub(super) call: &'static str,
    /// Threads that call.
    pub(super) threads: u32,
    /// Lanes that make one call of all these threads.
    pub(super) lanes: u32,
    pub(super) costs: Costs,
}

/// The kernel whose calls are counted: each of its threads makes [`CALLS`], and nothing else that the
/// bus would see.
pub(super) const KERNEL: &str = "repeat";

/// Counts the calls of a function in a launch of [`KERNEL`].
pub(super) struct Counter {
    entry: &'static str,
    /// The function is inlined, and the kernel is counted.
    is_inlined: bool,
    counted: Arc<Mutex<Option<Costs>>>,
}

impl Counter {
    /// Counts the calls of `entry`.
    pub(super) fn of(bench: &Bench, entry: &'static str) -> Self {
        Self {
            entry,
            // rustc ignores `inline(never)` for AMD GPUs.
            is_inlined: matches!(bench.device.arch(), DeviceArch::Amd(_)),
            counted: Arc::default(),
        }
    }

    /// The builder of a runtime whose launches are counted.
    pub(super) fn count(&self, bench: &Bench) -> Builder {
        let sink = Arc::clone(&self.counted);
        Runtime::builder(bench.name()).costs(CountCosts {
            entry: match self.is_inlined {
                true => KERNEL.to_owned(),
                false => self.entry.to_owned(),
            },
            sink: Arc::new(move |_, costs| {
                *sink.lock().unwrap_or_else(PoisonError::into_inner) = Some(costs.clone());
            }),
        })
    }

    /// The counts of the last launch.
    pub(super) fn costs(&self) -> anyhow::Result<Costs> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let costs = counted.take();
        let mut costs = costs.context("the device has not counted the launch")?;
        if self.is_inlined {
            costs.calls.warp_calls *= CALLS;
            costs.calls.lane_calls *= CALLS;
        }
        Ok(costs)
    }
}
