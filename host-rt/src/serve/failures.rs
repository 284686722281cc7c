//! The running launches and their failed calls.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex};

use tracing::debug_span;

use super::lock;
use super::{CallError, LaunchError};
use crate::base::catch_panic::catch_panic;
use crate::base::span::GuardedSpan;
use crate::device::{Grid, Outcome};

/// One launch. It lives until its result is read, also after the end of the kernel.
#[derive(Debug)]
pub(crate) struct LaunchState {
    /// Identifies the launch on the wires; not 0.
    pub(crate) key: u32,
    pub(crate) kernel: String,
    /// Whether its image can call the host.
    pub(crate) calls_host: bool,
    /// Whether its calls are aborted.
    aborted: AtomicBool,
    /// From its begin to its end, for a subscriber that wants it.
    span: Mutex<GuardedSpan>,
    /// The first failed call, and the number of failed calls.
    failures: Mutex<Option<(CallError, u64)>>,
}

impl LaunchState {
    /// Begins the span of the launch. The caller ends the launch later.
    pub(crate) fn begin_span(&self, device: &str, grid: Grid) {
        let Grid { teams, threads } = grid;
        let (name, launch) = (self.kernel.as_str(), self.key);
        let span = GuardedSpan::new(|| {
            debug_span!("launch", otel.name = name, launch, device, teams, threads)
        });
        *lock(&self.span) = span;
    }

    /// Ends it. The subscriber may block.
    pub(super) fn end_span(&self) {
        let span = mem::take(&mut *lock(&self.span));
        drop(span);
    }

    fn fail(&self, error: CallError) {
        let mut failures = lock(&self.failures);
        match &mut *failures {
            Some((_, count)) => *count += 1,
            None => *failures = Some((error, 1)),
        }
    }

    /// The result of the launch, from its kernel's result `kernel_result` and its failed calls.
    pub(crate) fn outcome(&self, kernel_result: Outcome) -> Result<(), LaunchError> {
        let kernel = || self.kernel.clone();
        match (kernel_result, lock(&self.failures).clone()) {
            (Err(fault), failures) => Err(LaunchError::Fault {
                kernel: kernel(),
                fault,
                failed_call: failures.map(|(first, _)| first),
            }),
            (Ok(()), Some((first, failed))) => Err(LaunchError::Call {
                kernel: kernel(),
                first,
                failed,
            }),
            (Ok(()), None) => Ok(()),
        }
    }
}

/// The running launches.
#[derive(Debug, Default)]
pub(super) struct Launches {
    running: Mutex<RunningLaunches>,
    /// The number of running launches whose calls are aborted. It changes with `running` locked, and
    /// saves calls of other programs the lock.
    aborted: AtomicUsize,
}

#[derive(Debug, Default)]
struct RunningLaunches {
    last_key: u32,
    by_key: BTreeMap<u32, Arc<LaunchState>>,
}

impl RunningLaunches {
    /// The number of launches since the one with this key. Keys wrap, so a larger one may be older.
    fn age(&self, key: u32) -> u32 {
        self.last_key.wrapping_sub(key)
    }
}

impl Launches {
    pub(super) fn begin(&self, kernel: &str, calls_host: bool) -> Arc<LaunchState> {
        let mut running = lock(&self.running);
        loop {
            running.last_key = running.last_key.wrapping_add(1);
            let key = running.last_key;
            if key != 0 && !running.by_key.contains_key(&key) {
                let launch = Arc::new(LaunchState {
                    key,
                    kernel: kernel.to_owned(),
                    calls_host,
                    aborted: AtomicBool::new(false),
                    span: Mutex::default(),
                    failures: Mutex::default(),
                });
                running.by_key.insert(key, Arc::clone(&launch));
                return launch;
            }
        }
    }

    /// Ends a launch; `false` if it had ended before.
    pub(super) fn end(&self, launch: &LaunchState) -> bool {
        let mut running = lock(&self.running);
        let was_running = running.by_key.remove(&launch.key).is_some();
        // Relaxed, here and below: the lock orders `LaunchState::aborted`.
        if was_running && launch.aborted.load(Ordering::Relaxed) {
            self.aborted.fetch_sub(1, Ordering::Relaxed);
        }
        was_running
    }

    /// Whether the launch `key` is running.
    pub(super) fn is_running(&self, key: u32) -> bool {
        lock(&self.running).by_key.contains_key(&key)
    }

    /// The last key, and the number of running launches.
    pub(super) fn progress(&self) -> (u32, usize) {
        let running = lock(&self.running);
        (running.last_key, running.by_key.len())
    }

    /// The oldest of launches with these keys; 0, which stands for unknown ones, if that is among them.
    pub(super) fn oldest(&self, keys: &BTreeSet<u32>) -> Option<u32> {
        let running = lock(&self.running);
        let keys = keys.iter().copied();
        keys.max_by_key(|&key| (key == 0, running.age(key)))
    }

    /// Whether the first failed call of the oldest running launch that can call was aborted for a
    /// deadlock.
    pub(super) fn oldest_is_deadlocked(&self) -> bool {
        let running = lock(&self.running);
        let callers = running.by_key.values().filter(|launch| launch.calls_host);
        let oldest = callers.max_by_key(|launch| running.age(launch.key));
        oldest.is_some_and(|launch| {
            matches!(
                &*lock(&launch.failures),
                Some((CallError::Deadlock { .. }, _))
            )
        })
    }

    /// Aborts the calls of the launch `key` from now on, if it is running.
    pub(super) fn abort(&self, key: u32) {
        let running = lock(&self.running);
        if let Some(launch) = running.by_key.get(&key)
            && !launch.aborted.swap(true, Ordering::Relaxed)
        {
            self.aborted.fetch_add(1, Ordering::Relaxed);
        }
        drop(running);
        // Either a thread that begins a call sees the number after its fence in `CallState::begin`,
        // or the caller, which looks for running calls after this fence, sees the call.
        fence(Ordering::SeqCst);
    }

    /// Whether the calls of the launch `key` are aborted. If no running launch has this key, they
    /// are only if those of all running launches are: the call may belong to any of them.
    pub(super) fn is_aborted(&self, key: u32) -> bool {
        if self.aborted.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let running = lock(&self.running);
        let mut callers = running.by_key.values().filter(|launch| launch.calls_host);
        let is_aborted = |launch: &Arc<LaunchState>| launch.aborted.load(Ordering::Relaxed);
        match running.by_key.get(&key) {
            Some(launch) => is_aborted(launch),
            None => callers.all(is_aborted),
        }
    }

    /// Adds a failed call to the launch `key`, or to all launches that can call if none has this
    /// key. The device supplies the key, so its kernels can blame each other, but no other
    /// device's. The caller then logs it.
    pub(super) fn record(&self, key: u32, error: &CallError) {
        let running = lock(&self.running);
        let callers = || running.by_key.values().filter(|launch| launch.calls_host);
        match callers().find(|launch| launch.key == key) {
            Some(launch) => launch.fail(error.clone()),
            None => callers().for_each(|launch| launch.fail(error.clone())),
        }
    }
}

/// Logs a failed call. The log's subscriber may block.
pub(super) fn log_failure(key: u32, error: &CallError) {
    catch_panic(|| tracing::warn!(launch = key, %error, "call failed"));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_launch_is_that_before_keys_wrapped() {
        let launches = Launches::default();
        lock(&launches.running).last_key = u32::MAX - 1;
        let [outer, inner] = ["outer", "inner"].map(|kernel| launches.begin(kernel, true));
        assert!(outer.key > inner.key);
        let mut keys = BTreeSet::from([outer.key, inner.key]);
        assert_eq!(launches.oldest(&keys), Some(outer.key));
        keys.insert(0);
        assert_eq!(launches.oldest(&keys), Some(0));

        outer.fail(CallError::Deadlock {
            function: "f".to_owned(),
            resource: "the only slot".into(),
            after: Duration::from_secs(10),
        });
        assert!(launches.oldest_is_deadlocked());
    }
}
