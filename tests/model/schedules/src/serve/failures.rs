//! Stand-in for launches and their failed calls.

use std::collections::BTreeSet;

use super::CallError;
use crate::base::sync::{Mutex, Ordering, fence, lock};

/// The launches whose calls are aborted.
#[derive(Default)]
pub(super) struct Launches(Mutex<BTreeSet<u32>>);

impl Launches {
    pub(super) fn record(&self, _: u32, _: &CallError) {}

    pub(super) fn abort(&self, key: u32) {
        lock(&self.0).insert(key);
        fence(Ordering::SeqCst);
    }

    pub(super) fn is_aborted(&self, key: u32) -> bool {
        lock(&self.0).contains(&key)
    }
}

/// Runs what the model does in place of the log's subscriber.
pub(super) fn log_failure(_: u32, error: &CallError) {
    let CallError::Protocol { reason, .. } = error;
    (reason.0)();
}
