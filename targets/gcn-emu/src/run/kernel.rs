//! A kernel that is launched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bus_cost::record::LaunchCosts;
use emu_engine::Activity;
use race_check::{Checker, Clock};

use super::costs::Owner;
use crate::alu::LANES;
use crate::arch::{Target, WaveSize};
use crate::descriptor::Descriptor;
use crate::memory::AddressSpace;
use crate::weak::Weak;

/// A kernel to launch.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Its name, for messages.
    pub kernel: String,
    /// The address of its descriptor, which HSA calls the kernel object.
    pub descriptor: u64,
    /// Lanes of the grid.
    pub grid: [u32; 3],
    /// Lanes of a workgroup.
    pub workgroup: [u32; 3],
    /// The address of the arguments.
    pub kernarg: u64,
    /// The address of the packet.
    pub packet: u64,
    /// The address of the queue.
    pub queue: u64,
    /// The number of the packet in the queue.
    pub dispatch_id: u64,
    /// Bytes of private memory of a lane.
    pub private_bytes: u32,
    /// Bytes of LDS of a workgroup.
    pub group_bytes: u32,
}

/// A lane whose instructions are printed.
#[derive(Clone)]
pub struct Trace {
    /// The place of the workgroup in the grid.
    pub workgroup: [u32; 3],
    /// The place of the lane in the workgroup.
    pub lane: [u32; 3],
    /// Receives each line.
    pub sink: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({:?}, lane {:?})", self.workgroup, self.lane)
    }
}

/// The counts of a kernel's accesses to the bus.
pub(crate) struct KernelCosts {
    /// The function whose executions are counted as calls; none if the code has no such function.
    pub(crate) entry: Option<u64>,
    pub(crate) counts: LaunchCosts,
}

/// The checker of a launch, and its clock at the begin.
pub(crate) struct LaunchCheck {
    pub(crate) checker: Arc<Checker>,
    pub(crate) origin: Arc<Clock>,
    /// The number of the launch.
    pub(crate) number: u64,
}

/// A kernel that is launched.
pub(crate) struct Kernel {
    pub(crate) dispatch: Dispatch,
    pub(crate) descriptor: Descriptor,
    pub(crate) target: Target,
    pub(crate) memory: Arc<dyn AddressSpace>,
    pub(crate) start: Instant,
    pub(crate) weak: Option<Weak>,
    /// A lane to trace.
    pub(crate) trace: Option<Trace>,
    /// Its operations on the bus, if they are counted.
    pub(crate) costs: Option<KernelCosts>,
    /// The race checker, if it is checked.
    pub(crate) check: Option<LaunchCheck>,
    pub(crate) activity: Arc<Activity>,
    /// The time without progress after which looping waves are assumed to loop forever.
    pub(crate) patience: Duration,
}

/// Three-dimensional places by number, x first.
fn place(number: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let [x, y] = [x, y].map(u64::from);
    [number % x, number / x % y, number / x / y].map(|n| n as u32)
}

/// Workgroups of a grid in each dimension.
pub(crate) fn workgroups(dispatch: &Dispatch) -> [u32; 3] {
    std::array::from_fn(|at| dispatch.grid[at].div_ceil(dispatch.workgroup[at]))
}

impl Kernel {
    /// Lanes of a wave.
    pub(super) fn wave_lanes(&self) -> u32 {
        match self.target.wave {
            WaveSize::Wave32 => 32,
            WaveSize::Wave64 => LANES as u32,
        }
    }

    /// Lanes of a workgroup.
    pub(super) fn threads(&self) -> u32 {
        self.dispatch.workgroup.iter().product()
    }

    /// Waves of a workgroup.
    pub(super) fn waves(&self) -> u32 {
        self.threads().div_ceil(self.wave_lanes())
    }

    /// The place of a workgroup in the grid.
    pub(super) fn workgroup(&self, number: u64) -> [u32; 3] {
        place(number, workgroups(&self.dispatch))
    }

    /// The place of a lane in its workgroup.
    pub(super) fn lane_place(&self, wave: u32, lane: usize) -> [u32; 3] {
        let number = u64::from(wave) * u64::from(self.wave_lanes()) + lane as u64;
        place(number, self.dispatch.workgroup)
    }

    /// Whether a lane of a workgroup is to be traced.
    pub(super) fn traces(&self, workgroup: [u32; 3], lane: [u32; 3]) -> bool {
        let trace = self.trace.as_ref();
        trace.is_some_and(|trace| (trace.workgroup, trace.lane) == (workgroup, lane))
    }

    /// Whose memory is at a global address. Arguments and the packet are in memory of the host, but are
    /// the launch's: other GPUs have them in memory of their own.
    pub(super) fn owner(&self, address: u64) -> Owner {
        const PACKET_BYTES: u64 = 64;
        let is_in = |start: u64, bytes: u64| address.wrapping_sub(start) < bytes;
        let is_of_launch = is_in(self.dispatch.kernarg, self.descriptor.kernarg_bytes.into())
            || is_in(self.dispatch.packet, PACKET_BYTES);
        match self.memory.is_of_host(address) {
            true if is_of_launch => Owner::Other,
            true => Owner::Host,
            false => Owner::Device,
        }
    }

    /// Nanoseconds since the machine was made.
    pub(super) fn clock(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// The address of the first instruction.
    pub(super) fn entry(&self) -> u64 {
        let descriptor = self.dispatch.descriptor;
        descriptor.wrapping_add_signed(self.descriptor.entry)
    }
}
