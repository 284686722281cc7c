//! Kernels that are run to their end, with words for parameters.

use std::sync::Arc;
use std::time::Instant;

use super::{Error, Kernel, KernelArg, Report, Result};
use crate::device::{Caller, DeviceError, Grid, InlineCall, InlineLaunch};
use crate::serve::LaunchError;

impl Kernel {
    /// Runs it to its end, with parameters of 8 bytes each.
    ///
    /// On GPUs that is [`launch`](Self::launch) and [`wait`](crate::Launch::wait). On `host`
    /// the kernel is a C function of as many integers of 64 bits, at most 127, as compilers
    /// make it of an OpenMP target region for the host; kernels that are launched take their
    /// parameters otherwise. It is called once, on this thread. If its image has reverse
    /// offload, it runs on a stack of its own, of 8 MiB, and
    ///
    /// - a trap, such as a panic, ends the kernel with an error, but the process on a thread
    ///   that the kernel started itself;
    /// - such threads may call the host, too. What lies on their own stack travels with the
    ///   call; of what lies on another thread's, on the kernel's too, 128 bytes at most do on
    ///   `native`, and nothing on GCC's wires. Failed calls of theirs count against this
    ///   launch, or where several are under way against all of them;
    /// - in a host function, it runs on a thread of its own while this one serves calls.
    ///
    /// A [deadline](crate::Builder::deadline) cannot end the wait on `host`, where it is this
    /// thread that runs the kernel.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch): the code is a kernel of as many parameters of 8 bytes
    /// each, on `host` a C function that does not unwind, which does with the memory that they
    /// name only what it may.
    ///
    /// On `host`, frames of other languages and libraries, such as those of an OpenMP runtime,
    /// may lie below a trap, and are abandoned with the kernel's: no destructor of theirs runs,
    /// and no lock that they hold is released. Whatever calls what can trap while it holds
    /// something that others need does not do so in a kernel.
    ///
    /// # Errors
    /// The device cannot run the grid, which on `host` must be one thread of one team, or
    /// pass as many words; on `host` the kernel has a
    /// [declaration](crate::image::KernelDeclaration::info), and so is one to be launched; it
    /// was ended by a fault, or calls that it made have failed.
    pub unsafe fn call_inline(&self, grid: Grid, words: &[u64]) -> Result<Report> {
        let Some(inline) = self.program.inner.runtime.device.inline_launch() else {
            let args: Vec<_> = words.iter().map(|word| word as &dyn KernelArg).collect();
            // SAFETY: passed on.
            let launch = unsafe { self.launch(grid, &args) }?;
            return Ok(launch.wait()?);
        };
        if self.declaration.info.is_some() {
            return Err(Error::BadArguments {
                kernel: self.declaration.name.clone(),
                wants: "pointers to its parameters, as a launch passes them".to_owned(),
                given: format!("{} words", words.len()),
            });
        }
        let run = InlineCall {
            name: &self.declaration.name,
            kernel: self.code,
            grid,
            block: self.block,
            words,
            caller: None,
        };
        let started = Instant::now();
        if self.program.inner.calls_host {
            // SAFETY: passed on.
            unsafe { self.call_inline_served(inline, run) }?;
        } else {
            // SAFETY: the caller vouches for the function, the program keeps it loaded.
            let ended = unsafe { inline.run(run) }?;
            ended.map_err(|fault| LaunchError::Fault {
                kernel: self.declaration.name.clone(),
                message: fault.to_string(),
                failed_call: None,
            })?;
        }
        let time = started.elapsed();
        Ok(Report { time })
    }

    /// Runs it where its calls are served.
    ///
    /// # Safety
    /// As for [`call_inline`](Self::call_inline).
    unsafe fn call_inline_served(
        &self,
        inline: &dyn InlineLaunch,
        mut run: InlineCall<'_>,
    ) -> Result<()> {
        let server = &self.program.inner.runtime.server;
        let state = server.begin(&self.declaration.name, true)?;
        let waker = Arc::clone(server);
        run.caller = Some(Caller {
            key: state.key,
            wake_host: Arc::new(move || waker.wake_host()),
        });
        // SAFETY: the caller vouches for the function, the program keeps it loaded.
        let run = move || unsafe { inline.run(run) };
        let ended = if crate::serve::current_call().is_some() {
            // The calls may need this thread.
            std::thread::scope(|scope| {
                let kernel = std::thread::Builder::new().spawn_scoped(scope, run);
                let kernel = kernel.map_err(|reason| DeviceError::System {
                    what: "starting a thread for a kernel".to_owned(),
                    reason,
                })?;
                server.serve_until(|| kernel.is_finished());
                match kernel.join() {
                    Ok(ended) => ended,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            })
        } else {
            run()
        };
        server.end(&state);
        let deadline = self.program.inner.runtime.deadline;
        let until = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        let written = server.wait_for_output(until);
        state.outcome(ended?)?;
        if !written {
            return Err(LaunchError::Output {
                kernel: self.declaration.name.clone(),
                after: deadline.unwrap_or_default(),
            }
            .into());
        }
        Ok(())
    }
}
