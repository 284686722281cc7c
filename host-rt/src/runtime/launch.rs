//! Kernels under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::program::ProgramInner;
use crate::device::{Queue, Running};
use crate::error::LaunchError;
use crate::serve::LaunchState;

/// What a launch that ended well has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// From start to end.
    pub time: Duration,
}

/// A kernel under way. Dropping it waits for the kernel to end.
pub struct Launch {
    pub(super) program: Arc<ProgramInner>,
    pub(super) running: Arc<dyn Running>,
    pub(super) state: Arc<LaunchState>,
    pub(super) started: Instant,
    pub(super) waited: AtomicBool,
    pub(super) _queue: Box<dyn Queue>,
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

    /// Waits until the kernel has ended. In a host function, serves calls
    /// meanwhile.
    ///
    /// # Errors
    /// The kernel was ended by a fault, or calls that it made have failed.
    pub fn wait(&self) -> Result<Report, LaunchError> {
        self.waited.store(true, Ordering::Relaxed);
        if crate::serve::current_call().is_some() {
            self.program
                .runtime
                .server
                .serve_until(|| self.running.is_done());
        }
        let ended = self.running.wait();
        let time = self.started.elapsed();
        if let Err(message) = ended {
            return Err(LaunchError::Fault {
                kernel: self.state.kernel.clone(),
                message,
            });
        }
        match self.state.failure() {
            Some(error) => Err(error),
            None => Ok(Report { time }),
        }
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
    }
}
