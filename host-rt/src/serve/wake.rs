//! The wake word: how a sleeping poller is woken, by device threads and by the host.

use std::sync::{Condvar, Mutex, OnceLock};

use shared_abi::wire::WakeWord as Layout;
use shared_abi::words::Coherent;

use super::lock;
use crate::device::MappedMemory;
use crate::wire::wake;

/// One wake word, by which one thread sleeps.
#[derive(Default)]
pub(super) struct WakeWord {
    /// The word that device threads read; attached with the first wire.
    memory: OnceLock<MappedMemory>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    woken: bool,
    /// There is a thread to wake, by a system call.
    sleeping: bool,
}

impl WakeWord {
    /// Bytes of mapped memory that it needs.
    pub(super) const BYTES: usize = size_of::<Layout>();

    /// Attaches the memory that the device sees, once.
    pub(super) fn attach(&self, memory: MappedMemory) {
        self.memory.get_or_init(|| memory);
    }

    /// Device address of the word; 0 before it is attached.
    pub(super) fn device_address(&self) -> u64 {
        self.memory.get().map_or(0, |memory| memory.device)
    }

    /// Sleeps until woken, unless `poll` finds a reason not to.
    pub(super) fn sleep(&self, poll: impl FnOnce() -> bool) {
        let Some(memory) = self.memory.get() else {
            unreachable!("threads exist only after the first wire was attached")
        };
        // SAFETY: the memory has the size of the word and lives with `self`.
        let words = unsafe { Coherent::new(memory.host.as_ptr()) };
        wake::sleep(&words, poll, || {
            let mut state = lock(&self.state);
            state.sleeping = true;
            while !state.woken {
                state = self
                    .wake
                    .wait(state)
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            state.sleeping = false;
        });
        // A waker publishes first, so the next poll finds its request.
        lock(&self.state).woken = false;
    }

    /// Wakes the sleeper; remembered if nobody sleeps yet.
    pub(super) fn wake(&self) {
        let mut state = lock(&self.state);
        state.woken = true;
        let sleeping = state.sleeping;
        drop(state);
        if sleeping {
            self.wake.notify_one();
        }
    }
}
