//! The bell: how a sleeping poller is woken, by device threads and by the host.

use std::sync::{Condvar, Mutex, OnceLock};

use shared_abi::wire::Bell as Word;
use shared_abi::words::Coherent;

use super::lock;
use crate::device::MappedMemory;
use crate::wire::bell;

/// One bell; one thread sleeps at it.
#[derive(Default)]
pub(super) struct Bell {
    /// The word that device threads look at; attached with the first wire.
    memory: OnceLock<MappedMemory>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    rung: bool,
    /// There is somebody to wake, which the system is asked for.
    asleep: bool,
}

impl Bell {
    /// Bytes of mapped memory that it needs.
    pub(super) const BYTES: usize = size_of::<Word>();

    /// Shows the bell to the device, once.
    pub(super) fn attach(&self, memory: MappedMemory) {
        self.memory.get_or_init(|| memory);
    }

    /// Device address of the word; 0 before it is attached.
    pub(super) fn device_address(&self) -> u64 {
        self.memory.get().map_or(0, |memory| memory.device)
    }

    /// Sleeps until the bell is rung, unless `look` finds a reason not to.
    pub(super) fn sleep(&self, look: impl FnOnce() -> bool) {
        let Some(memory) = self.memory.get() else {
            unreachable!("threads exist only after the first wire was attached")
        };
        // SAFETY: the memory has the size of the word and lives with `self`.
        let words = unsafe { Coherent::new(memory.host.as_ptr()) };
        bell::sleep(&words, look, || {
            let mut state = lock(&self.state);
            state.asleep = true;
            while !state.rung {
                state = self
                    .wake
                    .wait(state)
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            state.asleep = false;
        });
        // Whoever rang has published before, so the look that comes next finds it.
        lock(&self.state).rung = false;
    }

    /// Wakes the sleeper; remembered if nobody sleeps yet.
    pub(super) fn ring(&self) {
        let mut state = lock(&self.state);
        state.rung = true;
        let asleep = state.asleep;
        drop(state);
        if asleep {
            self.wake.notify_one();
        }
    }
}
