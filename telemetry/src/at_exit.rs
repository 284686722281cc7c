//! Functions that are called when the process exits.

use std::sync::{Mutex, Once};

use crate::lock::lock;

/// The functions to call.
static ACTIONS: Mutex<Vec<Box<dyn Fn() + Send>>> = Mutex::new(Vec::new());

/// Calls them. They may be called again when the process exits.
pub(crate) fn run_now() {
    // In a child that was forked while it was locked, nobody unlocks it.
    if let Ok(actions) = ACTIONS.try_lock() {
        actions.iter().for_each(|act| act());
    }
}

/// Registers `act` to be called when the process exits, or when a library that contains this code is closed. It
/// must not panic, and does nothing in a child that was forked, or when it is called again.
pub(crate) fn at_exit(act: impl Fn() + Send + 'static) {
    static REGISTERED: Once = Once::new();
    extern "C" fn run() {
        run_now();
    }
    lock(&ACTIONS).push(Box::new(act));
    REGISTERED.call_once(|| {
        // SAFETY: `run` may run at any time of a process's end, and when a library that contains it is closed: it uses
        // statics only, which no destructor ends, and nothing in it panics.
        unsafe { libc::atexit(run) };
    });
}
