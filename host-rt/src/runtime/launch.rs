//! Kernels under way.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::program::ProgramInner;
use crate::device::{Queue, Running};
use crate::serve::{LaunchError, LaunchQueue, LaunchState};

/// How long one that has passed its deadline waits for what its kernel has printed.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// What a launch that ended well has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// From start to end.
    pub time: Duration,
}

/// A kernel under way. Dropping it waits for the kernel to end, unless it has passed
/// its [deadline](crate::Builder::deadline).
pub struct Launch {
    pub(super) program: Arc<ProgramInner>,
    pub(super) running: Arc<dyn Running>,
    pub(super) state: Arc<LaunchState>,
    pub(super) started: Instant,
    pub(super) waited: AtomicBool,
    /// Its own, if it is one's; taken by the drop.
    pub(super) queue: Option<Box<dyn Queue>>,
    /// By which its kernel alone calls the host.
    pub(super) launch_queue: Option<LaunchQueue>,
    /// What the kernel uses.
    pub(super) kept: Option<Box<dyn Any + Send + Sync>>,
}

impl Launch {
    /// What a host function finds in [`CallContext::launch`](crate::CallContext::launch)
    /// when this launch calls it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.state.key
    }

    /// Whether the kernel has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.running.is_done()
    }

    /// Keeps what the kernel uses until it has ended, and for ever if this is dropped when the
    /// kernel has passed its [deadline](crate::Builder::deadline) and goes on.
    pub fn keep(&mut self, used: impl Send + Sync + 'static) {
        let before = self.kept.take();
        self.kept = Some(match before {
            Some(before) => Box::new((before, used)),
            None => Box::new(used),
        });
    }

    /// What the kernel, which has ended, has left as its return value in its
    /// [launch queue](crate::Kernel::launch_on): 0, unless it ended by a function such as `exit`
    /// or `abort`. 0 without such a queue.
    #[must_use]
    pub fn return_value(&self) -> i32 {
        self.launch_queue
            .as_ref()
            .map_or(0, LaunchQueue::return_value)
    }

    /// Restarts the timer and the [deadline](crate::Builder::deadline), for a launch that had to
    /// wait in its queue.
    pub fn restart_time(&mut self) {
        self.started = Instant::now();
    }

    /// Waits until the kernel has ended. In a host function, serves calls
    /// meanwhile.
    ///
    /// # Errors
    /// The kernel was ended by a fault or has not ended by its
    /// [deadline](crate::Builder::deadline), calls that it made have failed, or what it has
    /// printed was not written by the deadline.
    pub fn wait(&self) -> Result<Report, LaunchError> {
        // A second wait restarts the deadline.
        let from = if self.waited.swap(true, Ordering::Relaxed) {
            Instant::now()
        } else {
            self.started
        };
        let runtime = &self.program.runtime;
        let until = runtime
            .deadline
            .and_then(|deadline| from.checked_add(deadline));
        if crate::serve::current_call().is_some() {
            let late = || until.is_some_and(|until| Instant::now() >= until);
            let done = || self.running.is_done() || late();
            runtime.server.serve_until(done);
        }
        let server = &runtime.server;
        let Some(ended) = self.running.wait(until) else {
            if self.state.calls_host {
                let soon = Some(Instant::now() + LAST_LOOK);
                server.take_text(soon);
                server.wait_for_output(soon);
            }
            runtime.overdue.add(&self.running);
            return Err(LaunchError::Deadline {
                kernel: self.state.kernel.clone(),
                after: runtime.deadline.unwrap_or_default(),
                pending: server.pending(),
            });
        };
        let time = self.started.elapsed();
        let written = !self.state.calls_host
            || server.wait_for_output(until.map(|until| until.max(Instant::now() + LAST_LOOK)));
        let ended = ended.map_err(|fault| match &self.program.panic_record {
            Some(record) => record.explain(fault),
            None => fault,
        });
        self.state.outcome(ended)?;
        if !written {
            return Err(LaunchError::Output {
                kernel: self.state.kernel.clone(),
                after: runtime.deadline.unwrap_or_default(),
            });
        }
        Ok(Report { time })
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Relaxed: a flag of this value alone.
        if !self.waited.load(Ordering::Relaxed)
            && let Err(error) = self.wait()
        {
            tracing::error!(%error, "a launch that nobody waited for failed");
        }
        if !self.running.is_done() {
            // It has passed its deadline, and goes on with its code, its wire and its memory.
            std::mem::forget(Arc::clone(&self.program));
            std::mem::forget(Arc::clone(&self.running));
            std::mem::forget(self.queue.take());
            std::mem::forget(self.launch_queue.take());
            std::mem::forget(self.kept.take());
        }
    }
}
