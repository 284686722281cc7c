//! Kernels that run on the calling thread, with words for parameters.

use std::sync::Arc;
use std::time::Instant;

use super::{Kernel, KernelArg, Report, Result, RuntimeError};
use crate::device::{Caller, DeviceError, Grid, InlineCall, Outcome};
use crate::serve::Server;

impl Kernel {
    /// Runs the kernel and returns when it has ended. `words` are its parameters, 8 bytes each.
    ///
    /// On GPUs this is [`launch`](Self::launch) followed by [`wait`](crate::Launch::wait).
    ///
    /// On `host`, the kernel is a C function whose parameters are 64-bit integers, at most 127:
    /// compilers make such a function of an OpenMP target region for the host. (Launched kernels
    /// get a pointer to their parameters instead.) It is called once, on this thread. If its image
    /// has reverse offload, it runs on a separate stack of 8 MiB, and these rules hold:
    ///
    /// - A trap, such as a panic, ends the kernel with an error. On a thread that the kernel
    ///   itself has started, a trap ends the process.
    /// - Such threads may call the host, too. Arguments on the caller's own stack are passed with
    ///   the call. Arguments on another thread's stack, including the kernel's, are not, except for
    ///   up to 128 bytes on `native`. Failed calls of these threads count as failures of this
    ///   launch, or of all launches that run at the time.
    /// - If a host function calls this, the kernel runs on a new thread while this one serves
    ///   calls.
    ///
    /// On `host`, a [deadline](crate::Builder::deadline) limits only the wait for the kernel's
    /// output, because this thread runs the kernel.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch): the code is a kernel with one parameter of 8 bytes for each
    /// word, and accesses the memory that they name only as it may. On `host` it is a C function
    /// that does not unwind.
    ///
    /// On `host`, a trap abandons all frames below it. They may belong to other languages and
    /// libraries, such as an OpenMP runtime: none of their destructors run, and none of their
    /// locks are released. The kernel therefore does not trap below a frame that holds a
    /// resource which others need.
    ///
    /// # Errors
    /// - The device cannot run the grid; `host` requires one team of one thread.
    /// - The device cannot pass that many words.
    /// - On `host`, the kernel has a [declaration](crate::image::KernelDeclaration::info), so it
    ///   can only be launched.
    /// - A fault ended the kernel, or one of its calls has failed.
    pub unsafe fn call_inline(&self, grid: Grid, words: &[u64]) -> Result<Report> {
        let Some(inline) = self.program.inner.runtime.device.inline_launch() else {
            let args: Vec<_> = words.iter().map(|word| word as &dyn KernelArg).collect();
            // SAFETY: the caller's promise, which includes that of `launch`.
            let launch = unsafe { self.launch(grid, &args) }?;
            return Ok(launch.wait()?);
        };
        if self.declaration.info.is_some() {
            return Err(RuntimeError::NotInline {
                kernel: self.declaration.name.clone(),
            });
        }
        let program = &self.program.inner;
        let server = &program.runtime.server;
        let guard = server.begin(&self.declaration.name, program.calls_host)?;
        let state = Arc::clone(&guard.state);
        state.begin_span(program.runtime.device.name(), grid);
        let call = InlineCall {
            name: &self.declaration.name,
            kernel: self.code,
            grid,
            block: self.block,
            words,
            caller: program.calls_host.then(|| {
                let server = Arc::clone(server);
                Caller {
                    key: state.key,
                    wake_host: Arc::new(move || server.wake_host()),
                }
            }),
        };
        let started = Instant::now();
        // SAFETY: the caller guarantees that the kernel is such a function, and `self` keeps it
        // loaded.
        let run = move || unsafe { inline.run(call) };
        let ended = if program.calls_host && crate::serve::current_call().is_some() {
            // This may be the last thread that could serve the kernel's calls, so it does that.
            serve_during(server, run)
        } else {
            run()
        };
        let time = started.elapsed();
        drop(guard);
        program.outcome(&state, ended?, program.deadline_from(started))?;
        Ok(Report { time })
    }
}

/// Runs a kernel on a new thread, and serves calls meanwhile.
fn serve_during(
    server: &Arc<Server>,
    run: impl FnOnce() -> Result<Outcome, DeviceError> + Send,
) -> Result<Outcome, DeviceError> {
    std::thread::scope(|scope| {
        let kernel = std::thread::Builder::new().spawn_scoped(scope, run);
        let kernel = kernel.map_err(|reason| DeviceError::System {
            what: "starting a thread for a kernel".to_owned(),
            reason,
        })?;
        server.serve_until(true, || kernel.is_finished());
        match kernel.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
