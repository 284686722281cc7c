//! Running kernels and their outcome.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::reaper::CompletionReaper;
use crate::device::{Fault, LaunchContext, Module, Outcome, Running};

/// The end of a kernel, as its device reports it.
pub(in crate::device) trait KernelEnd: Send + Sync + 'static {
    /// Waits until the kernel has ended, and returns the outcome; `None` if it has not ended at
    /// `until`.
    fn wait(&self, until: Option<Instant>) -> Option<Outcome>;

    /// Whether the device is lost although its kernels may still run.
    fn may_be_running(&self) -> bool;
}

/// A running kernel.
pub(in crate::device) struct GpuLaunch<E: KernelEnd> {
    end: E,
    _module: Arc<dyn Module>,
    context: LaunchContext,
    /// Set by the thread that notices the end first; others wait for it.
    outcome: OnceLock<Outcome>,
}

impl<E: KernelEnd> GpuLaunch<E> {
    /// A kernel of `module` that was started. If it can call the host, `reaper` waits for it.
    pub(in crate::device) fn started(
        end: E,
        module: &Arc<dyn Module>,
        context: LaunchContext,
        reaper: &CompletionReaper,
        device: &str,
    ) -> Arc<Self> {
        let calls_host = context.calls_host;
        let launch = Arc::new(Self::new(end, module, context));
        if calls_host {
            reaper.watch(device, Arc::clone(&launch) as Arc<dyn Running>);
        }
        launch
    }

    /// A kernel of `module` that was started, and whose end the device cannot report.
    pub(in crate::device) fn failed(
        end: E,
        module: &Arc<dyn Module>,
        context: LaunchContext,
        reason: Fault,
    ) -> Arc<Self> {
        let launch = Self::new(end, module, context);
        let _ = launch.ended(Err(reason));
        Arc::new(launch)
    }

    fn new(end: E, module: &Arc<dyn Module>, context: LaunchContext) -> Self {
        Self {
            end,
            _module: Arc::clone(module),
            context,
            outcome: OnceLock::new(),
        }
    }

    /// Records the outcome, unless another thread has; returns the recorded one.
    fn ended(&self, how: Outcome) -> Outcome {
        let outcome = self.outcome.get_or_init(|| {
            // If the kernel may still run, calls continue to be served, since someone may wait for
            // it in the driver.
            if !self.end.may_be_running() {
                (self.context.ended)();
            }
            how
        });
        outcome.clone()
    }
}

impl<E: KernelEnd> Running for GpuLaunch<E> {
    fn is_done(&self) -> bool {
        self.wait(Some(Instant::now())).is_some()
    }

    fn wait(&self, until: Option<Instant>) -> Option<Outcome> {
        match self.outcome.get() {
            Some(outcome) => Some(outcome.clone()),
            None => self.end.wait(until).map(|how| self.ended(how)),
        }
    }
}

impl<E: KernelEnd> Drop for GpuLaunch<E> {
    fn drop(&mut self) {
        // A kernel that nothing waited for and that cannot call the host.
        let _ = Running::wait(self, None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::device::{BlockShape, DeviceError, Global, KernelLimits};

    struct NoModule;

    impl Module for NoModule {
        fn global(&self, _name: &str) -> Result<Option<Global>, DeviceError> {
            Ok(None)
        }

        fn kernel(&self, _name: &str) -> Result<Option<Global>, DeviceError> {
            Ok(None)
        }

        fn limits(&self, _kernel: Global) -> Result<KernelLimits, DeviceError> {
            unreachable!("no kernel is launched")
        }
    }

    /// Ends at once.
    struct End {
        may_be_running: bool,
    }

    impl KernelEnd for End {
        fn wait(&self, _until: Option<Instant>) -> Option<Outcome> {
            Some(Err("the device's reason".into()))
        }

        fn may_be_running(&self) -> bool {
            self.may_be_running
        }
    }

    /// The number of times that the end of a launch was reported, and its outcome.
    fn outcome(may_be_running: bool, failed: Option<Fault>) -> (u32, Outcome) {
        let ends = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&ends);
        let context = LaunchContext {
            block: BlockShape::default(),
            key: 1,
            calls_host: false,
            wake_host: Arc::new(|| ()),
            // Relaxed: one thread.
            ended: Arc::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
            }),
        };
        let (end, module) = (End { may_be_running }, Arc::new(NoModule) as _);
        let launch = match failed {
            Some(reason) => GpuLaunch::failed(end, &module, context, reason),
            None => GpuLaunch::started(end, &module, context, &CompletionReaper::default(), "a"),
        };
        assert!(launch.is_done());
        let outcome = launch.wait(None).expect("it has ended");
        drop(launch);
        (ends.load(Ordering::Relaxed), outcome)
    }

    #[test]
    fn the_first_outcome_is_reported_once() {
        let of_device = Err("the device's reason".into());
        assert_eq!(outcome(false, None), (1, of_device.clone()));
        let of_launch = Fault::from("it could not be marked");
        let found = outcome(false, Some(of_launch.clone()));
        assert_eq!(found, (1, Err(of_launch)));
        // Its calls are still served.
        assert_eq!(outcome(true, None), (0, of_device));
    }
}
