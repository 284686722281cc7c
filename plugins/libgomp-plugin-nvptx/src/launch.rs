//! Launching GCC's kernels for NVIDIA GPUs.

use gomp_plugin::launch::{Fault, RequestedGrid, Running};
use gomp_plugin::region::announce;
use gomp_plugin::{Device, Error, Kernels, Result};
use revoff_host::device::{Axis, BlockShape, KernelLimits};
use revoff_host::{Grid, Kernel, Launch, Program};

/// Lanes of a warp, which is one thread of GCC's.
const WARP: u32 = 32;

/// Maximum threads of a team, for which GCC's device code has room.
const MAX_THREADS: u32 = 32;

/// Default threads of a team, as with GCC's plugin.
const DEFAULT_THREADS: u32 = 8;

/// Bytes of a thread's stack, as with GCC's plugin.
const STACK: u64 = 128 << 10;

/// Kernels that run an image's constructors: in a single lane, some with the end of a stack as
/// parameter.
const CONSTRUCTORS: [(&str, bool); 2] = [
    ("__do_global_ctors__entry", false),
    ("__do_global_ctors__entry__mgomp", true),
];

/// Launches the kernels of an image.
pub(crate) struct Launcher {
    /// The kernels of its constructors, and whether each takes the end of a stack.
    constructors: Vec<(Kernel, bool)>,
    /// Bytes of dynamic shared memory of a launch.
    lowlat: u32,
}

/// A running kernel.
struct Started(Launch);

impl Running for Started {
    fn wait(&self) -> Result<(), Fault> {
        self.0.wait().map_err(Error::from)?;
        Ok(())
    }
}

impl Launcher {
    pub(crate) fn new(program: &Program, lowlat: u32) -> Self {
        let constructors = CONSTRUCTORS.into_iter();
        let there = |(name, has_stack)| Some((program.kernel(name).ok()?, has_stack));
        Self {
            constructors: constructors.filter_map(there).collect(),
            lowlat,
        }
    }
}

impl Kernels for Launcher {
    fn construct(&self, device: &Device) -> Result<()> {
        for (kernel, has_stack) in &self.constructors {
            let stacks = device.launch_memory(STACK)?;
            let end = stacks.address().0 + STACK;
            let args: &[&dyn revoff_host::KernelArg] = if *has_stack { &[&end] } else { &[] };
            let grid = Grid {
                teams: 1,
                threads: 1,
            };
            // SAFETY: the kernel that GCC generates, with its parameters; the stack lives until the
            // launch has ended.
            let mut launch = unsafe { kernel.launch(grid, args) }?;
            launch.keep(stacks);
            launch.wait()?;
        }
        Ok(())
    }

    unsafe fn start(
        &self,
        device: &Device,
        kernel: &Kernel,
        vars: u64,
        requested: RequestedGrid,
    ) -> Result<Box<dyn Running>> {
        let grid = grid(requested, kernel.limits()?);
        let bytes = u64::from(grid.teams) * u64::from(grid.threads) * STACK;
        let stacks = device.launch_memory(bytes)?;
        announce(device, kernel, grid, WARP);
        let kernel = kernel.clone().with_block(BlockShape {
            lanes: WARP,
            lane_axis: Axis::X,
            shared_bytes: self.lowlat,
        });
        let address = stacks.address().0;
        // SAFETY: GCC's kernels have these three parameters. The caller keeps the memory of the
        // variables; the launch owns the stacks.
        let mut launch = unsafe { kernel.launch(grid, &[&vars, &address, &STACK]) }?;
        launch.keep(stacks);
        Ok(Box::new(Started(launch)))
    }
}

/// The requested grid, within the device's limits, as with GCC's plugin.
fn grid(requested: RequestedGrid, limits: KernelLimits) -> Grid {
    let most = (limits.block / WARP).clamp(1, MAX_THREADS);
    let threads = match requested.threads {
        0 => DEFAULT_THREADS,
        threads => threads,
    };
    let threads = threads.min(most);
    let blocks = limits.processor / (WARP * threads) * limits.processors;
    let blocks = blocks.max(1);
    let teams = match requested.teams {
        0 => blocks,
        teams => teams.min(blocks),
    };
    Grid { teams, threads }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_fit_the_device() {
        let limits = KernelLimits {
            block: 1024,
            processor: 2048,
            processors: 2,
            shared_bytes: 0,
        };
        let chosen = |teams, threads| {
            let Grid { teams, threads } = grid(RequestedGrid { teams, threads }, limits);
            (teams, threads)
        };
        assert_eq!(chosen(0, 0), (16, 8));
        assert_eq!(chosen(3, 1), (3, 1));
        assert_eq!(chosen(1000, 64), (4, 32));
        let few = KernelLimits {
            block: 16,
            processor: 16,
            ..limits
        };
        let Grid { teams, threads } = grid(RequestedGrid::default(), few);
        assert_eq!((teams, threads), (1, 1));
    }
}
