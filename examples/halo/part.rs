//! The cells of a rank, on its device.

use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use revoff_host::{DeviceBuffer, Grid, Kernel, Program, Runtime};

const ONE_THREAD: Grid = Grid {
    teams: 1,
    threads: 1,
};

/// The cells of a rank, and the kernels that let heat flow.
pub(crate) struct Part {
    count: u64,
    cells: DeviceBuffer,
    /// For the cells of the next step.
    other: DeviceBuffer,
    total: DeviceBuffer,
    halo: Kernel,
    step: Kernel,
}

impl Part {
    /// With these cells.
    pub(crate) fn new(runtime: &Runtime, program: &Program, cells: &[i64]) -> anyhow::Result<Self> {
        let count = cells.len() as u64;
        let part = Self {
            count,
            cells: runtime.alloc(8 * count)?,
            other: runtime.alloc(8 * count)?,
            total: runtime.alloc(8)?,
            halo: program.kernel("halo")?,
            step: program.kernel("step")?,
        };
        part.cells.write(0, cells)?;
        Ok(part)
    }

    /// Copies the cells.
    pub(crate) fn read(&self, cells: &mut [i64]) -> anyhow::Result<()> {
        self.cells.read(0, cells)?;
        Ok(())
    }

    /// Runs all steps in one kernel, which exchanges cells itself. Returns the heat of all ranks.
    pub(crate) fn stay(&mut self, steps: u64) -> anyhow::Result<i64> {
        let (cells, other, total) = (&self.cells, &self.other, &self.total);
        // SAFETY: the kernel takes these, the buffers have these many cells, and they live until `wait` returns.
        let launch = unsafe {
            self.halo
                .launch(ONE_THREAD, &[cells, other, &self.count, &steps, total])?
        };
        launch.wait()?;
        let mut sum = [0];
        total.read(0, &mut sum)?;
        Ok(sum[0])
    }

    /// Runs each step in a kernel, and exchanges cells in between. Returns the heat of all ranks.
    pub(crate) fn leave(&mut self, steps: u64) -> anyhow::Result<i64> {
        let world = SimpleCommunicator::world();
        let (me, ranks) = (world.rank(), world.size());
        let next = world.process_at_rank((me + 1) % ranks);
        let previous = world.process_at_rank((me + ranks - 1) % ranks);
        for _ in 0..steps {
            let (mut first, mut last) = ([0i64], [0i64]);
            self.cells.read(0, &mut first)?;
            self.cells.read(8 * (self.count - 1), &mut last)?;
            let (mut before, mut after) = (0i64, 0i64);
            send_receive_into(&last[0], &next, &mut before, &previous);
            send_receive_into(&first[0], &previous, &mut after, &next);
            let (cells, other) = (&self.cells, &self.other);
            // SAFETY: the kernel takes these, both buffers have `count` cells, and they live until `wait` returns.
            let launch = unsafe {
                self.step
                    .launch(ONE_THREAD, &[cells, other, &self.count, &before, &after])?
            };
            launch.wait()?;
            std::mem::swap(&mut self.cells, &mut self.other);
        }
        let mut cells = vec![0; usize::try_from(self.count)?];
        self.read(&mut cells)?;
        let mut sum = 0;
        world.all_reduce_into(&cells.iter().sum::<i64>(), &mut sum, SystemOperation::sum());
        Ok(sum)
    }
}
