//! Running kernels.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tracing::debug_span;

use super::loaded_program::LoadedProgram;
use crate::base::span::GuardedSpan;
use crate::device::{Outcome, Queue, Running};
use crate::serve::{LaunchError, LaunchState, LaunchWire};

/// How long a wait that has passed its deadline still waits for the kernel's output.
const OUTPUT_GRACE: Duration = Duration::from_millis(100);

/// How often a wait calls its watch.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Called with the identifier of a launch when the wait for it begins, and repeatedly while it lasts. If
/// it returns `Break`, the wait ends as at a deadline.
pub(super) type Watch<'a> = &'a mut dyn FnMut(u32) -> ControlFlow<()>;

/// The result of a launch without errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The time from the kernel's start to its end.
    pub time: Duration,
}

/// A running kernel. Dropping this value waits for the kernel to end, unless the kernel has passed
/// its [deadline](crate::Builder::deadline).
pub struct Launch {
    pub(super) program: Arc<LoadedProgram>,
    pub(super) running: Arc<dyn Running>,
    pub(super) state: Arc<LaunchState>,
    pub(super) started: Instant,
    /// Whether a wait has ended, with the kernel's end or at its deadline.
    pub(super) waited: AtomicBool,
    /// The queue, if it belongs to this launch alone; the drop takes it.
    pub(super) queue: Option<Box<dyn Queue>>,
    /// The wire of this launch alone, if it has one.
    pub(super) launch_wire: Option<LaunchWire>,
    /// Values that the kernel uses, see [`keep`](Launch::keep).
    pub(super) kept: Option<Box<dyn Any + Send + Sync>>,
}

/// How a wait for a kernel ends.
enum Waited {
    Ended(Outcome),
    Deadline,
    /// By its watch.
    Interrupted,
}

/// A handle that aborts a launch. It keeps the program and its runtime.
#[derive(Clone)]
pub struct AbortHandle {
    program: Arc<LoadedProgram>,
    running: Arc<dyn Running>,
    state: Arc<LaunchState>,
}

impl AbortHandle {
    /// Aborts the calls of the launch: each ends with the status
    /// [`ABORTED`](shared_abi::status::Status::ABORTED), also those whose host functions are running.
    /// The functions run on, and their results are dropped. A kernel that ends after a failed call
    /// thus ends, whatever the host functions wait for. [`Launch::wait`] then reports the aborted
    /// calls. A kernel that calls nothing runs on.
    ///
    /// Returns whether the kernel has ended. Waits for that until it has made no call for 100 ms, at
    /// most for a second.
    ///
    /// A function that never returns keeps its serving thread. Dropping the runtime does not wait for
    /// such a thread, but without others no call is served. A call that no thread has taken yet ends
    /// when one is free, or when all running launches are aborted.
    ///
    /// On GPUs, calls do not name their launch. They end once every running launch that can call is
    /// aborted. GCC's wires have no status: there a kernel goes on as after a call that succeeded, but
    /// without results. Running calls are not aborted if another runtime maps the arguments of the
    /// function, as libgomp does.
    pub fn abort(&self) -> bool {
        let is_done = || self.running.is_done();
        if !self.state.calls_host {
            return is_done();
        }
        self.program.runtime.server.abort(&self.state, is_done)
    }
}

impl Launch {
    /// The identifier of this launch, which host functions that it calls find in
    /// [`CallContext::launch`](crate::CallContext::launch).
    #[must_use]
    pub fn id(&self) -> u32 {
        self.state.key
    }

    /// Whether the kernel has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.running.is_done()
    }

    /// Keeps a value that the kernel uses until the kernel has ended. If this launch is dropped
    /// while the kernel runs past its [deadline](crate::Builder::deadline), the value is leaked.
    pub fn keep(&mut self, used: impl Send + Sync + 'static) {
        let before = self.kept.take();
        self.kept = Some(match before {
            Some(before) => Box::new((before, used)),
            None => Box::new(used),
        });
    }

    /// The return value that the kernel left in its [launch wire](crate::Kernel::launch_on) when
    /// it ended: 0, unless it ended by a function such as `exit` or `abort`. Without a launch
    /// wire, 0.
    #[must_use]
    pub fn return_value(&self) -> i32 {
        self.launch_wire
            .as_ref()
            .map_or(0, LaunchWire::return_value)
    }

    /// Restarts the timer and the [deadline](crate::Builder::deadline) of a launch that had to wait
    /// in its queue.
    pub fn restart_time(&mut self) {
        self.started = Instant::now();
    }

    /// Aborts the calls of this launch, see [`AbortHandle::abort`].
    pub fn abort(&self) -> bool {
        self.abort_handle().abort()
    }

    /// A handle with which any thread can abort this launch, also while another waits for it.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle {
            program: Arc::clone(&self.program),
            running: Arc::clone(&self.running),
            state: Arc::clone(&self.state),
        }
    }

    /// Waits until the kernel has ended. If a host function calls this, its thread serves calls
    /// meanwhile. At its [deadline](crate::Builder::deadline) the launch is [aborted](Self::abort).
    ///
    /// # Errors
    /// A fault ended the kernel, the kernel has not ended by its
    /// [deadline](crate::Builder::deadline), one of its calls has failed, or its output was not
    /// written by the deadline.
    pub fn wait(&self) -> Result<Report, LaunchError> {
        self.wait_or_abort(None)
    }

    /// [`wait`](Self::wait), with a watch, see [`TypedKernel::launch_watched`].
    ///
    /// [`TypedKernel::launch_watched`]: crate::TypedKernel::launch_watched
    pub(super) fn wait_watched(&self, watch: Watch<'_>) -> Result<Report, LaunchError> {
        self.wait_or_abort(Some(watch))
    }

    fn wait_or_abort(&self, watch: Option<Watch<'_>>) -> Result<Report, LaunchError> {
        let mut result = self.wait_without_abort(watch);
        if let Err(
            LaunchError::Deadline { has_ended, .. } | LaunchError::Interrupted { has_ended, .. },
        ) = &mut result
        {
            *has_ended = self.abort();
        }
        result
    }

    /// [`wait`](Self::wait), but a launch that passes its deadline is not aborted.
    pub(crate) fn wait_until_deadline(&self) -> Result<Report, LaunchError> {
        self.wait_without_abort(None)
    }

    fn wait_without_abort(&self, watch: Option<Watch<'_>>) -> Result<Report, LaunchError> {
        let (kernel, launch) = (self.state.kernel.as_str(), self.state.key);
        let span =
            GuardedSpan::new(|| debug_span!("wait", otel.name = "wait for kernel", kernel, launch));
        let _span = span.enter();
        // A second wait restarts the deadline. Relaxed: the flag orders no other memory.
        let from = if self.waited.load(Ordering::Relaxed) {
            Instant::now()
        } else {
            self.started
        };
        let runtime = &self.program.runtime;
        let until = self.program.deadline_from(from);
        if crate::serve::current_call().is_some() {
            let late = || until.is_some_and(|until| Instant::now() >= until);
            let running = &self.running;
            let done = || running.is_done() || late();
            runtime.server.serve_until(self.state.calls_host, done);
        }
        let server = &runtime.server;
        let waited = self.wait_for_end(until, watch);
        if !matches!(waited, Waited::Ended(_)) {
            runtime.overdue.add(&self.running);
        }
        // Relaxed: as above. Not earlier: after a panic, the drop waits.
        self.waited.store(true, Ordering::Relaxed);
        let unfinished = |error| {
            if self.state.calls_host {
                let soon = Some(Instant::now() + OUTPUT_GRACE);
                server.take_text(soon);
                server.wait_for_output(soon);
            }
            Err(error)
        };
        let kernel = self.state.kernel.clone();
        let ended = match waited {
            Waited::Ended(ended) => ended,
            Waited::Deadline => {
                return unfinished(LaunchError::Deadline {
                    kernel,
                    after: runtime.deadline.unwrap_or_default(),
                    pending: server.pending(),
                    has_ended: false,
                });
            }
            Waited::Interrupted => {
                return unfinished(LaunchError::Interrupted {
                    kernel,
                    has_ended: false,
                });
            }
        };
        let time = self.started.elapsed();
        self.program.outcome(&self.state, ended, until)?;
        Ok(Report { time })
    }

    fn wait_for_end(&self, until: Option<Instant>, watch: Option<Watch<'_>>) -> Waited {
        let Some(watch) = watch else {
            let ended = self.running.wait(until);
            return ended.map_or(Waited::Deadline, Waited::Ended);
        };
        loop {
            if watch(self.id()).is_break() {
                return Waited::Interrupted;
            }
            let next = Instant::now() + WATCH_INTERVAL;
            let next = until.map_or(next, |until| until.min(next));
            if let Some(ended) = self.running.wait(Some(next)) {
                return Waited::Ended(ended);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Waited::Deadline;
            }
        }
    }
}

impl LoadedProgram {
    /// The deadline of a launch whose time begins at `start`, if the runtime has one.
    pub(super) fn deadline_from(&self, start: Instant) -> Option<Instant> {
        let deadline = self.runtime.deadline?;
        start.checked_add(deadline)
    }

    /// The outcome of a launch whose kernel ended with `kernel_result`. Waits for the kernel's
    /// output until its deadline `until`, or shortly if that has passed.
    pub(super) fn outcome(
        &self,
        launch: &LaunchState,
        kernel_result: Outcome,
        until: Option<Instant>,
    ) -> Result<(), LaunchError> {
        let until = until.map(|until| until.max(Instant::now() + OUTPUT_GRACE));
        let written = !launch.calls_host || self.runtime.server.wait_for_output(until);
        launch.outcome(kernel_result.map_err(|fault| match &self.panic_record {
            Some(record) => record.explain(fault),
            None => fault,
        }))?;
        if !written {
            return Err(LaunchError::Output {
                kernel: launch.kernel.clone(),
                after: self.runtime.deadline.unwrap_or_default(),
            });
        }
        Ok(())
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Relaxed: `&mut self` orders this load after all stores.
        if !self.waited.load(Ordering::Relaxed)
            && let Err(error) = self.wait()
        {
            tracing::error!(%error, "a launch failed that was dropped without a wait");
        }
        if !self.running.is_done() {
            // The kernel has passed its deadline and still uses its code, its wire and its memory.
            std::mem::forget(Arc::clone(&self.program));
            std::mem::forget(Arc::clone(&self.running));
            std::mem::forget(self.queue.take());
            std::mem::forget(self.launch_wire.take());
            std::mem::forget(self.kept.take());
        }
    }
}
