//! The bell: how a sleeping watcher is woken, by device threads and by the host.

use core::mem::offset_of;
use std::sync::{Condvar, Mutex};

use shared_abi::wire::Bell as Word;
use shared_abi::words::{Coherent, Store, SystemWords};

use super::lock;
use crate::device::MappedMemory;

/// One bell; one thread sleeps at it.
pub(super) struct Bell {
    memory: MappedMemory,
    rung: Mutex<bool>,
    wake: Condvar,
}

impl Bell {
    /// Bytes of mapped memory that it needs.
    pub(super) const BYTES: usize = size_of::<Word>();

    pub(super) fn new(memory: MappedMemory) -> Self {
        Self {
            memory,
            rung: Mutex::new(false),
            wake: Condvar::new(),
        }
    }

    pub(super) fn device_address(&self) -> u64 {
        self.memory.device
    }

    /// Sleeps until the bell is rung, unless `look` finds a reason not to.
    pub(super) fn sleep(&self, look: impl FnOnce() -> bool) {
        // SAFETY: the memory has the size of a `Bell` and lives with `self`.
        let words = unsafe { Coherent::new(self.memory.host.as_ptr()) };
        let asleep = offset_of!(Word, asleep);
        // Relaxed: the fence orders it.
        words.store32(asleep, 1, Store::Relaxed);
        // Edge `W1`, host end: `asleep` was stored before this fence. If `look`
        // misses a request, the device's load after its own fence sees `asleep`,
        // and the bell rings.
        words.fence();
        if !look() {
            let mut rung = lock(&self.rung);
            while !*rung {
                rung = self
                    .wake
                    .wait(rung)
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
            }
        }
        *lock(&self.rung) = false;
        // Relaxed: at worst somebody rings in vain.
        words.store32(asleep, 0, Store::Relaxed);
    }

    /// Wakes the sleeper; remembered if nobody sleeps yet.
    pub(super) fn ring(&self) {
        *lock(&self.rung) = true;
        self.wake.notify_one();
    }
}
