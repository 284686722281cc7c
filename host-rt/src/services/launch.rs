//! Launching a program.

use std::sync::Arc;

use std_calls::kernel;
use targets::DeviceArch;

use super::{ProgramLimits, Services, ServicesError, heap};
use crate::device::Grid;
use crate::image::{Image, ImageError};
use crate::runtime::{Functions, KernelArg, Launch, Runtime, RuntimeError};

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
        check(limits)?;
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
        // The threads of a machine have stacks of their own.
        let has_stacks = !matches!(runtime.arch(), DeviceArch::Host(_));
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

/// Whether a program can have these limits.
fn check(limits: &ProgramLimits) -> Result<(), ServicesError> {
    let (threads, bytes) = (limits.threads, limits.stack);
    if !ProgramLimits::THREAD_COUNTS.contains(&threads) {
        return Err(ServicesError::Threads { threads });
    }
    if !ProgramLimits::STACK_SIZES.contains(&bytes) {
        return Err(ServicesError::Stack { bytes });
    }
    Ok(())
}
