//! Functions that are called when a signal changes, by one thread.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use emu_driver::process::lock;

use super::{Condition, Signals, Use, Waker, wait_until};

/// A function of the program: whether to call it again when its condition is met again.
pub(crate) type Function = unsafe extern "C" fn(i64, *mut c_void) -> bool;

/// A function for a change of a signal.
pub(crate) struct Handler {
    pub(crate) signal: Use,
    pub(crate) condition: Condition,
    pub(crate) function: Function,
    pub(crate) argument: usize,
}

impl Handler {
    fn is_due(&self) -> bool {
        self.condition.is_met(self.signal.signal().get()) || self.is_lost()
    }

    /// Whether its signal is destroyed, so that the function is not called any more.
    fn is_lost(&self) -> bool {
        self.signal.signal().is_destroyed()
    }
}

/// A call without a signal to wait for.
pub(crate) struct Call {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) argument: usize,
}

/// Functions that wait for a change.
#[derive(Default)]
pub(crate) struct Handlers {
    waiting: Mutex<Vec<Handler>>,
    calls: Mutex<Vec<Call>>,
    waker: Arc<Waker>,
    has_thread: OnceLock<bool>,
}

impl Handlers {
    /// Adds a function. Returns whether there is a thread that calls it.
    pub(crate) fn add(self: &Arc<Self>, handler: Handler, signals: &Arc<Signals>) -> bool {
        if !self.start(signals) {
            return false;
        }
        handler.signal.signal().add_waker(&self.waker);
        lock(&self.waiting).push(handler);
        self.waker.wake();
        true
    }

    /// Adds a call. Returns whether there is a thread that makes it.
    pub(crate) fn call(self: &Arc<Self>, call: Call, signals: &Arc<Signals>) -> bool {
        if !self.start(signals) {
            return false;
        }
        lock(&self.calls).push(call);
        self.waker.wake();
        true
    }

    /// Removes all functions.
    pub(crate) fn clear(&self) {
        for handler in std::mem::take(&mut *lock(&self.waiting)) {
            handler.signal.signal().remove_waker(&self.waker);
        }
        lock(&self.calls).clear();
    }

    /// Starts the thread unless it runs. Returns whether the thread runs.
    pub(crate) fn start(self: &Arc<Self>, signals: &Arc<Signals>) -> bool {
        *self.has_thread.get_or_init(|| {
            let (handlers, signals) = (Arc::clone(self), Arc::clone(signals));
            let thread = std::thread::Builder::new().name("signals".to_owned());
            thread.spawn(move || handlers.run(&signals)).is_ok()
        })
    }

    fn run(&self, signals: &Signals) {
        loop {
            let is_due = || {
                let waiting = lock(&self.waiting);
                waiting.iter().any(Handler::is_due) || !lock(&self.calls).is_empty()
            };
            let unseen = lock(&self.waiting)
                .iter()
                .any(|handler| handler.signal.signal().may_change_unseen());
            wait_until(&self.waker, None, unseen, is_due);
            for Call { function, argument } in std::mem::take(&mut *lock(&self.calls)) {
                // SAFETY: the program's function takes its argument.
                unsafe { function(argument as *mut c_void) };
            }
            let due = lock(&self.waiting)
                .extract_if(.., |handler| handler.is_due())
                .collect::<Vec<_>>();
            for handler in due {
                self.handle(handler, signals);
            }
        }
    }

    fn handle(&self, handler: Handler, signals: &Signals) {
        if handler.is_lost() {
            handler.signal.signal().remove_waker(&self.waker);
            return;
        }
        let Handler {
            signal,
            condition,
            function,
            argument,
        } = handler;
        signal.signal().remove_waker(&self.waker);
        let (value, handle) = (signal.signal().get(), signal.signal().handle());
        // The function may destroy the signal.
        drop(signal);
        // SAFETY: the program's function takes a value and its argument.
        let again = unsafe { function(value, argument as *mut c_void) };
        if again && let Ok(signal) = signals.take(handle) {
            signal.signal().add_waker(&self.waker);
            lock(&self.waiting).push(Handler {
                signal,
                condition,
                function,
                argument,
            });
        }
    }
}
