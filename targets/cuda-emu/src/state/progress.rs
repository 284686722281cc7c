//! How far a context's work has come.

use std::sync::{Condvar, Mutex, PoisonError};

use emu_driver::process::lock;

use crate::code::Code;

/// The state of a context's work.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    broken: Option<Code>,
    /// Threads of streams.
    workers: usize,
}

impl Progress {
    /// The error that all functions return, if one has occurred.
    pub(crate) fn broken(&self) -> Option<Code> {
        lock(&self.state).broken
    }

    /// Sets the error; the first one stays.
    pub(crate) fn break_with(&self, code: Code) {
        lock(&self.state).broken.get_or_insert(code);
        self.changed.notify_all();
    }

    pub(crate) fn add_worker(&self) {
        lock(&self.state).workers += 1;
    }

    pub(crate) fn remove_worker(&self) {
        lock(&self.state).workers -= 1;
        self.changed.notify_all();
    }

    /// Waits until the threads of closed streams have ended.
    pub(crate) fn wait_for_workers(&self) {
        self.wait_while(|state| state.workers > 0);
    }

    /// Waits until the condition is true, or the context is broken. It becomes true by
    /// [`advance`](Self::advance).
    pub(crate) fn wait_until(&self, reached: impl Fn() -> bool) {
        self.wait_while(|state| state.broken.is_none() && !reached());
    }

    fn wait_while(&self, holds: impl Fn(&State) -> bool) {
        let state = lock(&self.state);
        let waited = self.changed.wait_while(state, |state| holds(state));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Makes a change that others wait for.
    pub(crate) fn advance(&self, change: impl FnOnce()) {
        let state = lock(&self.state);
        change();
        drop(state);
        self.changed.notify_all();
    }
}
