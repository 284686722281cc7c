//! The wake word, by which device threads and the host wake a sleeping poller.

use std::sync::OnceLock;

use shared_abi::wire::WakeWord as Layout;
use shared_abi::words::Coherent;

use crate::base::sync::{Condvar, Mutex, lock, wait};
use crate::device::MappedMemory;
use crate::wire::wake;

/// A wake word. One thread at a time sleeps on it.
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
    /// Whether a thread waits for the condition variable.
    sleeping: bool,
}

impl WakeWord {
    /// Size in mapped memory, in bytes.
    pub(super) const BYTES: usize = size_of::<Layout>();

    /// Attaches the memory of the word, unless some is attached already.
    pub(super) fn attach(&self, memory: MappedMemory) {
        self.memory.get_or_init(|| memory);
    }

    /// Device address of the word; 0 before it is attached.
    pub(super) fn device_address(&self) -> u64 {
        self.memory.get().map_or(0, |memory| memory.device.0)
    }

    /// Sleeps until woken, unless `poll` returns true.
    pub(super) fn sleep(&self, poll: impl FnOnce() -> bool) {
        let Some(memory) = self.memory.get() else {
            unreachable!("threads exist only after the first wire is attached")
        };
        // SAFETY: the memory has the size of the word and lives as long as `self`.
        let words = unsafe { Coherent::new(memory.host.as_ptr()) };
        wake::sleep(&words, poll, || {
            let mut state = lock(&self.state);
            state.sleeping = true;
            while !state.woken {
                state = wait(&self.wake, state);
            }
            state.sleeping = false;
        });
        // A waker publishes first, so the next poll finds its request.
        lock(&self.state).woken = false;
    }

    /// Wakes the sleeping thread, or the next one that sleeps.
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
