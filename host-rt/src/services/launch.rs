//! Launching a program.

use std::ops::RangeInclusive;
use std::sync::Arc;

use std_calls::kernel;
use targets::DeviceArch;

use super::{Services, ServicesError};
use crate::device::Grid;
use crate::image::{Image, ImageError};
use crate::runtime::{Builder, Functions, KernelArg, Launch, Runtime, RuntimeError};

/// The resources of a program with `std`.
#[derive(Clone, Debug)]
pub struct ProgramLimits {
    /// The most threads that it has at a time, with that of `main`. Each is a team of its launch.
    pub threads: u32,
    /// The most device memory that its heap takes, in bytes. It grows as needed.
    pub heap: u64,
    /// The stack of each thread, in bytes: one of [`STACKS`](Self::STACKS).
    pub stack: u64,
    /// Whether the program counts what it allocates, and reports it when it ends.
    pub heap_statistics: bool,
}

impl Default for ProgramLimits {
    /// 8 threads, a heap of 256 MiB, stacks of 2 MiB, without statistics.
    fn default() -> Self {
        Self {
            threads: 8,
            heap: 256 << 20,
            stack: 2 << 20,
            heap_statistics: false,
        }
    }
}

impl ProgramLimits {
    /// The sizes that a stack can have. The smallest has room for the report of an overflow.
    pub const STACKS: RangeInclusive<u64> = 2 * kernel::STACK_RESERVE..=1 << 30;

    /// A builder of a runtime for a program: all of its threads may wait in calls at the same time, and the
    /// device threads of `host` have its stacks.
    pub fn runtime(&self, device: &str) -> Builder {
        Runtime::builder(device)
            .threads(self.threads as usize)
            .host_stack(self.stack_bytes())
    }

    fn stack_bytes(&self) -> u64 {
        self.stack.next_multiple_of(kernel::STACK_ALIGN)
    }

    fn check(&self) -> Result<(), ServicesError> {
        if self.threads == 0 {
            return Err(ServicesError::NoThreads);
        }
        if !Self::STACKS.contains(&self.stack) {
            return Err(ServicesError::Stack { bytes: self.stack });
        }
        Ok(())
    }
}

impl Services {
    /// Loads the image of a program with `std` and starts it. Its `main` runs on the device while this
    /// function returns. `functions` are further host functions that it calls.
    ///
    /// [`exit_status`](Self::exit_status) says how the program has ended. If that was not the return of
    /// `main`, but `std::process::exit`, a panic or an abort, the launch fails as well, since its other
    /// threads are stopped by a trap. Programs that fail in this way leave a GPU's context unusable: open another
    /// runtime for the next.
    ///
    /// # Errors
    /// A limit is invalid, the image is no program for these services, the device has too little
    /// memory, or these services have launched a program before.
    pub fn launch(
        self: &Arc<Self>,
        runtime: &Runtime,
        image: &Image,
        mut functions: Functions,
        limits: &ProgramLimits,
    ) -> Result<Launch, ServicesError> {
        limits.check()?;
        self.add_to(&mut functions)?;
        let kernel = runtime.load(image, &functions)?.kernel(kernel::NAME);
        let kernel = kernel.map_err(|error| match error {
            RuntimeError::Image(ImageError::NoKernel { name, .. }) => {
                ServicesError::NoProgram { name }
            }
            error => error.into(),
        })?;
        let teams = u64::from(limits.threads);
        let words = runtime.alloc(teams * kernel::THREAD_BYTES)?;
        let stack = limits.stack_bytes();
        // Other devices have stacks of their own.
        let has_stacks = matches!(
            runtime.arch(),
            DeviceArch::Nvidia(_) | DeviceArch::Emulated(_)
        );
        let stacks_bytes = if has_stacks { teams * stack } else { 1 };
        let no_memory = |part, bytes| {
            move |error: RuntimeError| ServicesError::Memory {
                part,
                bytes,
                source: Box::new(error),
            }
        };
        let stacks = runtime
            .alloc(stacks_bytes)
            .map_err(no_memory("stacks", stacks_bytes))?;
        let heap = self.heap.open(runtime, limits.heap);
        let heap = heap.map_err(no_memory("heap", limits.heap))?;
        let heap = heap.ok_or(ServicesError::Launched)?;
        self.symbols.set_image(image);
        let args: [&dyn KernelArg; 6] = [
            &heap.address,
            &heap.bytes,
            &words.address(),
            &stacks.address(),
            &stack,
            &u32::from(limits.heap_statistics),
        ];
        let grid = Grid {
            teams: limits.threads,
            threads: 1,
        };
        // SAFETY: a kernel with this name has these parameters. The launch keeps the memory, of which the
        // services have the heap, and it is the only one of an image that was just loaded.
        let mut launch = unsafe { kernel.launch(grid, &args)? };
        launch.keep((words, stacks, Arc::clone(self)));
        Ok(launch)
    }
}
