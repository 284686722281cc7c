//! Launching GCC's kernels for AMD GPUs.

use gomp_plugin::launch::{Fault, RequestedGrid, Running};
use gomp_plugin::region::announce;
use gomp_plugin::{Device, Kernels, Result};
use revoff_host::device::{Axis, BlockShape, KernelLimits};
use revoff_host::{DeviceBuffer, Grid, Kernel, Launch};

use crate::arguments::Arguments;
use crate::ending;
use crate::error::Error;
use crate::grid::{self, LANES, processor};
use crate::image::{CONSTRUCTORS, DESTRUCTORS};
use crate::memory::{Layout, memory, shared_bytes};
use crate::settings::Settings;

/// Launches the kernels of an image.
pub(crate) struct Launcher {
    settings: Settings,
    /// The memory for the image's `malloc`.
    heap: DeviceBuffer,
    /// The kernels of its constructors and its destructors.
    constructors: Option<Kernel>,
    destructors: Option<Kernel>,
}

/// A running kernel.
struct Started {
    launch: Launch,
    name: String,
}

impl Running for Started {
    fn wait(&self) -> Result<(), Fault> {
        self.launch.wait().map_err(gomp_plugin::Error::from)?;
        ending::check(&self.name, self.launch.return_value())
    }
}

impl Launcher {
    /// For an image, whose functions for constructors and destructors `own` finds.
    ///
    /// # Errors
    /// One of them cannot be launched.
    pub(crate) fn new(
        settings: Settings,
        heap: DeviceBuffer,
        own: impl Fn(&str) -> Result<Option<Kernel>>,
    ) -> Result<Self> {
        Ok(Self {
            settings,
            heap,
            constructors: own(CONSTRUCTORS)?,
            destructors: own(DESTRUCTORS)?,
        })
    }

    /// Runs `kernel`, if there is one, with a single thread.
    fn run_alone(&self, device: &Device, kernel: Option<&Kernel>) -> Result<()> {
        let Some(kernel) = kernel else {
            return Ok(());
        };
        let limits = kernel.limits()?;
        let grid = Grid {
            teams: 1,
            threads: 1,
        };
        // SAFETY: the kernel that GCC generates, which has no variables.
        let started = unsafe { self.launch(device, kernel, grid, limits, 0, 0)? };
        let ended = started.wait();
        ended.map_err(|fault| with_kernel(&started.name, fault))
    }

    /// Starts `kernel`, each team of which has an arena of `arena` bytes.
    ///
    /// # Safety
    /// As for [`Kernels::start`].
    unsafe fn launch(
        &self,
        device: &Device,
        kernel: &Kernel,
        grid: Grid,
        limits: KernelLimits,
        vars: u64,
        arena: u64,
    ) -> Result<Started> {
        let layout = memory(grid, arena, self.settings.stack)?;
        let Layout { arenas, bytes, .. } = layout;
        let memory = device.launch_memory(bytes);
        let memory = memory.map_err(|source| Error::LaunchMemory {
            bytes,
            teams: grid.teams,
            threads: grid.threads,
            source: Box::new(source),
        })?;
        let queue = device.runtime.launch_wire()?;
        let arguments = Arguments {
            vars,
            reserved: 0,
            queue: queue.address().0,
            heap: self.heap.address().0,
            arena: if arenas == 0 { 0 } else { memory.address().0 },
            stacks: memory.address().0 + arenas,
            arena_bytes: layout.arena,
            stack_bytes: layout.stack,
        };
        let name = kernel.declaration().name.clone();
        let kernel = kernel.clone().with_block(BlockShape {
            lanes: LANES,
            lane_axis: Axis::Y,
            shared_bytes: shared_bytes(&self.settings, grid.teams, limits),
        });
        // SAFETY: GCC's kernels have these arguments. The caller keeps the memory of the variables;
        // the launch owns the other memory, and the image the heap.
        let mut launch = unsafe { kernel.launch_on(queue, grid, &[&arguments]) }?;
        launch.keep(memory);
        Ok(Started { launch, name })
    }
}

impl Kernels for Launcher {
    fn construct(&self, device: &Device) -> Result<()> {
        self.run_alone(device, self.constructors.as_ref())
    }

    fn destruct(&self, device: &Device) -> Result<()> {
        self.run_alone(device, self.destructors.as_ref())
    }

    unsafe fn start(
        &self,
        device: &Device,
        kernel: &Kernel,
        vars: u64,
        requested: RequestedGrid,
    ) -> Result<Box<dyn Running>> {
        let limits = kernel.limits()?;
        let grid = grid::grid(&self.settings, requested, &processor(device), limits);
        announce(device, kernel, grid, LANES);
        let arena = self.settings.arena;
        // SAFETY: the caller of `Kernels::start` vouches for the kernel and its variables.
        let started = unsafe { self.launch(device, kernel, grid, limits, vars, arena)? };
        Ok(Box::new(started))
    }
}

/// The error about a fault of the kernel `name`, which its message contains once.
fn with_kernel(name: &str, fault: Fault) -> gomp_plugin::Error {
    match fault {
        Fault::Failed(error) => error,
        Fault::Aborted { .. } => Error::Aborted(Box::new(fault)).into(),
        Fault::Exited(_) => {
            let (kernel, fault) = (name.to_owned(), Box::new(fault));
            Error::Exited { kernel, fault }.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_named_once() {
        let name = "_init_array";
        for fault in [
            Fault::Exited(3),
            ending::check(name, 1).expect_err("no word of `exit`"),
            Fault::Failed(gomp_plugin::Error::NoKernel(name.to_owned())),
        ] {
            let text = with_kernel(name, fault).to_string();
            assert_eq!(text.matches(name).count(), 1, "{text}");
        }
    }
}
