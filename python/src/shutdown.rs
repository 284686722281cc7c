//! The end of the interpreter, before which serving threads leave Python: CPython ends a thread that returns to it later by
//! unwinding its stack (`pthread_exit`), which aborts a process whose stack has frames of Rust.

use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

/// How often a wait looks for signals, such as Ctrl-C.
const INTERVAL: Duration = Duration::from_millis(50);

static STATE: Mutex<State> = Mutex::new(State {
    calls: 0,
    has_ended: false,
});
static CHANGED: Condvar = Condvar::new();

struct State {
    /// The serving threads that run Python.
    calls: usize,
    /// Whether no more begin.
    has_ended: bool,
}

/// A thread that runs Python, until this is dropped.
pub(crate) struct Call(());

impl Call {
    /// Begins a call; `None` if the interpreter ends.
    pub(crate) fn begin() -> Option<Self> {
        let mut state = state();
        if state.has_ended {
            return None;
        }
        state.calls += 1;
        Some(Self(()))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        state().calls -= 1;
        CHANGED.notify_all();
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes Python call [`wait_for_calls`] at its end.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_calls, module)?;
    let atexit = module.py().import("atexit")?;
    // A process that was forked has none of the threads.
    atexit.call_method1("register", (wait, process::id()))?;
    Ok(())
}

/// Waits until no serving thread runs Python, or until a signal's handler raises an exception.
#[pyfunction]
fn wait_for_calls(py: Python<'_>, process: u32) -> PyResult<()> {
    if process != process::id() {
        return Ok(());
    }
    loop {
        let calls = py.detach(|| {
            let mut state = state();
            state.has_ended = true;
            let waited = CHANGED.wait_timeout_while(state, INTERVAL, |state| state.calls > 0);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.calls
        });
        if calls == 0 {
            return Ok(());
        }
        py.check_signals()?;
    }
}
