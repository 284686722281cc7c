//! The kernels that run, as far as serving their calls is concerned.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::lock;
use super::{CallError, LaunchError};

/// One launch. Lives on after the kernel has ended, until its result is read.
#[derive(Debug)]
pub(crate) struct LaunchState {
    /// On the wires; not 0.
    pub(crate) key: u32,
    pub(crate) kernel: String,
    /// Whether its image has reverse offload.
    pub(crate) calls_host: bool,
    failures: Mutex<Option<(CallError, u64)>>,
}

impl LaunchState {
    fn fail(&self, error: CallError) {
        let mut failures = lock(&self.failures);
        match &mut *failures {
            Some((_, count)) => *count += 1,
            None => *failures = Some((error, 1)),
        }
    }

    /// How the launch went, whose kernel has ended so.
    pub(crate) fn outcome(&self, ended: Result<(), String>) -> Result<(), LaunchError> {
        let kernel = || self.kernel.clone();
        match (ended, lock(&self.failures).clone()) {
            (Err(message), failures) => Err(LaunchError::Fault {
                kernel: kernel(),
                message,
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

/// The launches that run, by key.
#[derive(Debug, Default)]
pub(super) struct Launches(Mutex<Running>);

#[derive(Debug, Default)]
struct Running {
    last_key: u32,
    by_key: BTreeMap<u32, Arc<LaunchState>>,
}

impl Launches {
    pub(super) fn begin(&self, kernel: &str, calls_host: bool) -> Arc<LaunchState> {
        let mut running = lock(&self.0);
        loop {
            running.last_key = running.last_key.wrapping_add(1);
            let key = running.last_key;
            if key != 0 && !running.by_key.contains_key(&key) {
                let launch = Arc::new(LaunchState {
                    key,
                    kernel: kernel.to_owned(),
                    calls_host,
                    failures: Mutex::default(),
                });
                running.by_key.insert(key, Arc::clone(&launch));
                return launch;
            }
        }
    }

    pub(super) fn end(&self, launch: &LaunchState) {
        lock(&self.0).by_key.remove(&launch.key);
    }

    /// Counts a failed call against the launch `key`; if the wire did not tell
    /// which it was, against all that can call. The key is the device's word: its
    /// kernels can blame each other, nobody else's.
    pub(super) fn report(&self, key: u32, error: CallError) {
        let running = lock(&self.0);
        let callers = || running.by_key.values().filter(|launch| launch.calls_host);
        match callers().find(|launch| launch.key == key) {
            Some(launch) => launch.fail(error.clone()),
            None => callers().for_each(|launch| launch.fail(error.clone())),
        }
        drop(running);
        // Last: a subscriber of the log may panic.
        tracing::warn!(launch = key, %error, "call failed");
    }
}
