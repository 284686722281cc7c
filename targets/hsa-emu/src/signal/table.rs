//! Table of signals by handle.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use hsa_runtime_sys::hsa_signal_t;

use super::{Signal, Use};
use crate::memory::Memory;
use crate::status::{Answer, Status};

/// The signals that were created and not destroyed.
pub(crate) struct Signals {
    memory: Arc<Memory>,
    by_handle: RwLock<HashMap<u64, Arc<Signal>>>,
}

impl Signals {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self {
            memory: Arc::clone(memory),
            by_handle: RwLock::default(),
        }
    }

    /// Creates a signal.
    pub(crate) fn create(&self, value: i64) -> Answer<Arc<Signal>> {
        let signal = Signal::new(&self.memory, value).ok_or(Status::OUT_OF_RESOURCES)?;
        let signal = Arc::new(signal);
        let mut all = self
            .by_handle
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        all.insert(signal.handle().handle, Arc::clone(&signal));
        Ok(signal)
    }

    /// The signal with a handle.
    pub(crate) fn get(&self, signal: hsa_signal_t) -> Answer<Arc<Signal>> {
        let all = self
            .by_handle
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        all.get(&signal.handle)
            .cloned()
            .ok_or(Status::INVALID_SIGNAL)
    }

    /// The signal with a handle, for an operation.
    pub(crate) fn take(&self, signal: hsa_signal_t) -> Answer<Use> {
        let all = self
            .by_handle
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let signal = all.get(&signal.handle).ok_or(Status::INVALID_SIGNAL)?;
        Ok(Use::of(signal))
    }

    /// The signal of an operation that may have none.
    pub(crate) fn take_if_any(&self, signal: hsa_signal_t) -> Answer<Option<Use>> {
        match signal.handle {
            0 => Ok(None),
            _ => self.take(signal).map(Some),
        }
    }

    /// Destroys a signal. `is_strict`: one that an operation uses is not destroyed.
    pub(crate) fn destroy(&self, signal: hsa_signal_t, is_strict: bool) -> Answer {
        let mut all = self
            .by_handle
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let found = all.get(&signal.handle).ok_or(Status::INVALID_SIGNAL)?;
        // Acquire: edge *signal uses*.
        let uses = found.uses.load(Ordering::Acquire);
        if uses > 0 {
            tracing::warn!(
                signal = format_args!("{:#x}", signal.handle),
                uses,
                "a signal is destroyed that packets, copies or handlers still use"
            );
            if is_strict {
                return Err(Status::RESOURCE_FREE);
            }
        }
        let destroyed = all.remove(&signal.handle);
        drop(all);
        if let Some(destroyed) = destroyed {
            // Release: edge *destroyed signal*, to threads that wait for it.
            destroyed.is_destroyed.store(true, Ordering::Release);
            destroyed.wake();
        }
        Ok(())
    }

    /// Destroys all signals.
    pub(crate) fn destroy_all(&self) {
        let mut all = self
            .by_handle
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let destroyed = std::mem::take(&mut *all);
        drop(all);
        for signal in destroyed.into_values() {
            // Release: edge *destroyed signal*, to threads that wait for it.
            signal.is_destroyed.store(true, Ordering::Release);
            signal.wake();
        }
    }

    /// The number of signals.
    pub(crate) fn count(&self) -> usize {
        let all = self
            .by_handle
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        all.len()
    }
}
