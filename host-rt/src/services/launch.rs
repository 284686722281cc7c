//! Launching a program.

use std::ops::RangeInclusive;
use std::sync::Arc;

use std_calls::kernel;
use targets::DeviceArch;

use super::{Services, ServicesError, heap};
use crate::device::Grid;
use crate::image::{Image, ImageError};
use crate::runtime::{Builder, Functions, KernelArg, Launch, Runtime, RuntimeError};

/// The resources of a program with `std`.
#[derive(Clone, Debug)]
pub struct ProgramLimits {
    /// The most threads that it has at a time, with that of `main`: one of
    /// [`THREAD_COUNTS`](Self::THREAD_COUNTS). Each is a team of its launch.
    pub threads: u32,
    /// The most device memory that its heap takes, in bytes. It grows as needed.
    pub heap: u64,
    /// The stack of each thread, in bytes: one of [`STACK_SIZES`](Self::STACK_SIZES).
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
    /// The numbers of threads that a program can have.
    pub const THREAD_COUNTS: RangeInclusive<u32> = 1..=1 << 16;

    /// The sizes that a stack can have. The smallest has room for the report of an overflow.
    pub const STACK_SIZES: RangeInclusive<u64> = 2 * kernel::STACK_RESERVE..=1 << 30;

    /// A builder of a runtime for a program: all of its threads may wait in calls at the same time, and the
    /// device threads of `host` have its stacks. With another runtime, calls that wait may delay others, and
    /// stacks on `host` have the size that the runtime sets.
    pub fn runtime(&self, device: &str) -> Builder {
        let threads = self.threads.min(*Self::THREAD_COUNTS.end());
        Runtime::builder(device)
            .threads(threads as usize)
            .host_stack(self.stack_bytes())
    }

    fn stack_bytes(&self) -> u64 {
        let stack = self.stack.min(*Self::STACK_SIZES.end());
        stack.next_multiple_of(kernel::STACK_ALIGN)
    }

    fn check(&self) -> Result<(), ServicesError> {
        if !Self::THREAD_COUNTS.contains(&self.threads) {
            let threads = self.threads;
            return Err(ServicesError::Threads { threads });
        }
        if !Self::STACK_SIZES.contains(&self.stack) {
            return Err(ServicesError::Stack { bytes: self.stack });
        }
        Ok(())
    }
}

impl Services {
    /// Loads the image of a program with `std` and queues its kernel, which runs `main`. `functions` are
    /// further host functions that it calls. [`ProgramLimits::runtime`] builds a runtime for it.
    ///
    /// The launch ends when `main` has returned. It fails if the program ends otherwise (by
    /// `std::process::exit`, a panic or an abort), or if other threads still run a second after `main`:
    /// a trap stops them. [`exit_status`](Self::exit_status) has the program's status all the same. After such a
    /// trap the context of a GPU is unusable: open another runtime for the next program.
    ///
    /// On the `host` device a thread that computes when the program ends runs on until it waits, and one
    /// that is in a call until the call ends: [`AbortHandle::abort`](crate::AbortHandle::abort) ends these.
    ///
    /// # Errors
    /// A limit is invalid, the image is no program, the device has too little memory, or these services
    /// have been used for a launch before.
    pub fn launch(
        self: &Arc<Self>,
        runtime: &Runtime,
        image: &Image,
        mut functions: Functions,
        limits: &ProgramLimits,
    ) -> Result<Launch, ServicesError> {
        limits.check()?;
        let image = runtime.select(image)?;
        if !self.symbols.set_image(&image) {
            return Err(ServicesError::Launched);
        }
        self.add_to(&mut functions)?;
        let kernel = runtime.load(&image, &functions)?.kernel(kernel::NAME);
        let kernel = kernel.map_err(|error| match error {
            RuntimeError::Image(ImageError::NoKernel { name, .. }) => {
                ServicesError::NoProgram { name }
            }
            error => error.into(),
        })?;
        let teams = u64::from(limits.threads);
        let threads = runtime.alloc(teams * kernel::THREAD_BYTES)?;
        let stack = limits.stack_bytes();
        // Other devices have stacks of their own.
        let has_stacks = matches!(
            runtime.arch(),
            DeviceArch::Nvidia(_) | DeviceArch::Emulated(_)
        );
        let bytes = if has_stacks { teams * stack } else { 1 };
        let stacks = runtime.alloc(bytes).map_err(|error| {
            ServicesError::no_memory("stacks", bytes, "`threads` or `stack`", error)
        })?;
        let bytes = heap::first_piece(runtime, limits.heap);
        let piece = self
            .heap
            .open(runtime, limits.heap, bytes)
            .map_err(|error| ServicesError::no_memory("heap", bytes, "`heap`", error))?;
        let args: [&dyn KernelArg; 6] = [
            &piece.address,
            &piece.bytes,
            &threads.address(),
            &stacks.address(),
            &stack,
            &u32::from(limits.heap_statistics),
        ];
        let grid = Grid {
            teams: limits.threads,
            threads: 1,
        };
        // SAFETY: a kernel with this name has these parameters. The launch keeps the memory, of which the
        // services have the heap, and it is the only one of an image that was just loaded. Where a thread
        // traps, its frames may be borrowed by other threads of the launch: the `host` device keeps its
        // stack until all of them have ended. Nothing runs the destructors of these frames, and safe code
        // cannot rely on that: to the others, the thread waits for ever.
        let mut launch = unsafe { kernel.launch(grid, &args)? };
        launch.keep((threads, stacks, Arc::clone(self)));
        Ok(launch)
    }
}
