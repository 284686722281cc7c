//! Counts of a launch and of its calls to the host.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use serde::Serialize;

use crate::traffic::Traffic;

/// Fences that warps execute, by scope. Includes those that a release store or atomic implies. One that
/// is repeated without a store in between, as after each poll, counts once.
///
/// `N` is `u64` for counts and `f64` for averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fences<N = u64> {
    /// Within a block.
    pub cta: N,
    /// Within the device.
    pub gpu: N,
    /// Of the device and the host.
    pub sys: N,
}

/// The operations of warps.
///
/// `N` is `u64` for counts and `f64` for averages ([`PerCall`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts<N = u64> {
    /// Instructions of warps that at least one lane executes.
    pub warp_instructions: N,
    /// Instructions of lanes: each instruction of a warp counts once for each active lane.
    pub lane_instructions: N,
    /// Loads from mapped memory, without polls.
    pub loads: Traffic<N>,
    /// Loads from mapped memory that poll, and repeated atomics. Their number depends on how long the
    /// emulated host took.
    pub polls: Traffic<N>,
    /// Stores to mapped memory.
    pub stores: Traffic<N>,
    /// Atomic read-modify-writes of mapped memory.
    pub atomics: Traffic<N>,
    /// Atomic read-modify-writes of global device memory: instructions of warps.
    pub device_atomics: N,
    /// Fences.
    pub fences: Fences<N>,
    /// System fences that wait for stores to mapped memory: their lanes have stored since the last one,
    /// and no read over the bus that came after the stores has arrived.
    pub store_fences: N,
    /// Acquires at device or system scope, each of which invalidates the L1 cache of its
    /// multiprocessor. One that is repeated without a store in between, which polls or spins, counts
    /// once.
    pub l1_drops: N,
    /// Round trips over the bus of loads and atomics that depended on each other, without polls.
    pub serial_reads: N,
    /// Round trips over the bus of polls.
    pub serial_polls: N,
    /// Exchanges with the host: polls that are the first after a store to mapped memory by a polling
    /// lane, or in a call.
    pub exchanges: N,
}

/// The averages of a call.
pub type PerCall = Counts<f64>;

/// The counts of a launch, and of its calls to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Costs {
    /// Everything that the launch did, its calls included.
    pub launch: Counts,
    /// Its calls to the host.
    pub calls: Calls,
}

/// The function that makes every call to the host in our images and in GCC's.
pub const ENTRY: &str = "GOMP_target_ext";

/// A request to count.
#[derive(Clone)]
pub struct CountCosts {
    /// The function whose executions are counted as calls, such as `GOMP_target_ext`.
    pub entry: String,
    /// Receives the kernel's name and the counts of each launch, before a waiter learns of its end.
    pub sink: Sink,
}

/// Receives the counts of launches, from any thread.
pub type Sink = Arc<dyn Fn(&str, &Costs) + Send + Sync>;

impl fmt::Debug for CountCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountCosts")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// The counts of all calls of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// The name of the function whose executions are counted as calls.
    pub entry: String,
    /// Executions by lanes together: lanes of a warp that enter at the same time count once.
    pub warp_calls: u64,
    /// Executions by lanes.
    pub lane_calls: u64,
    /// The sum over all calls.
    pub counts: Counts,
}

impl Calls {
    /// The averages of a call by lanes together, or `None` if there was no call.
    pub fn per_warp_call(&self) -> Option<PerCall> {
        self.average(self.warp_calls)
    }

    /// The averages if the counts are those of `calls` calls, or `None` if there was no call.
    pub fn average(&self, calls: u64) -> Option<PerCall> {
        let average = |count| count as f64 / calls as f64;
        (calls > 0).then(|| self.counts.map(average))
    }
}

impl<N> Counts<N> {
    fn map<M>(self, convert: impl Fn(N) -> M) -> Counts<M> {
        Counts {
            warp_instructions: convert(self.warp_instructions),
            lane_instructions: convert(self.lane_instructions),
            loads: self.loads.map(&convert),
            polls: self.polls.map(&convert),
            stores: self.stores.map(&convert),
            atomics: self.atomics.map(&convert),
            device_atomics: convert(self.device_atomics),
            fences: Fences {
                cta: convert(self.fences.cta),
                gpu: convert(self.fences.gpu),
                sys: convert(self.fences.sys),
            },
            store_fences: convert(self.store_fences),
            l1_drops: convert(self.l1_drops),
            serial_reads: convert(self.serial_reads),
            serial_polls: convert(self.serial_polls),
            exchanges: convert(self.exchanges),
        }
    }
}

impl<N: AddAssign> AddAssign for Fences<N> {
    fn add_assign(&mut self, other: Self) {
        self.cta += other.cta;
        self.gpu += other.gpu;
        self.sys += other.sys;
    }
}

impl<N: AddAssign> AddAssign for Counts<N> {
    fn add_assign(&mut self, other: Self) {
        self.warp_instructions += other.warp_instructions;
        self.lane_instructions += other.lane_instructions;
        self.loads += other.loads;
        self.polls += other.polls;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.device_atomics += other.device_atomics;
        self.fences += other.fences;
        self.store_fences += other.store_fences;
        self.l1_drops += other.l1_drops;
        self.serial_reads += other.serial_reads;
        self.serial_polls += other.serial_polls;
        self.exchanges += other.exchanges;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts whose fields all differ, small enough to be exact as averages.
    fn distinct() -> Counts {
        let next = Cell::new(1);
        Counts::default().map(|_: u64| next.replace(next.get() + 3))
    }

    #[test]
    fn sums_are_of_each_field() {
        let mut sum = distinct();
        sum += distinct();
        assert_eq!(sum, distinct().map(|count| 2 * count));
    }

    #[test]
    fn averages_are_of_each_field() {
        let calls = Calls {
            warp_calls: 4,
            lane_calls: 128,
            counts: distinct(),
            ..Calls::default()
        };
        let average = calls.per_warp_call().expect("there were calls");
        assert_eq!(average.map(|count| (4.0 * count) as u64), distinct());
        assert_eq!(average.warp_instructions, 0.25);
    }

    #[test]
    fn without_calls_there_is_no_average() {
        let calls = Calls {
            counts: distinct(),
            ..Calls::default()
        };
        assert_eq!(calls.per_warp_call(), None);
    }
}
