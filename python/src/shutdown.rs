//! The end of the interpreter, before which threads leave Python that this module has called, or leave this module: CPython
//! ends a thread that takes the GIL later by unwinding its stack (`pthread_exit`), which aborts a process whose stack has
//! frames of Rust.

use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

/// How often a wait looks for signals, such as Ctrl-C.
const INTERVAL: Duration = Duration::from_millis(50);

static STATE: Mutex<State> = Mutex::new(State {
    sections: 0,
    has_ended: false,
});
static CHANGED: Condvar = Condvar::new();

struct State {
    /// The sections that have not ended.
    sections: usize,
    /// Whether no more begin.
    has_ended: bool,
}

/// A time in which a thread has frames of Rust and takes the GIL, until this is dropped.
pub(crate) struct Section(());

impl Section {
    /// Begins one; `None` if the interpreter ends.
    pub(crate) fn begin() -> Option<Self> {
        let mut state = state();
        if state.has_ended {
            return None;
        }
        state.sections += 1;
        Some(Self(()))
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        state().sections -= 1;
        CHANGED.notify_all();
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `act` without the GIL, or with it if the interpreter ends: the GIL could not be taken back.
pub(crate) fn detach<T: Send>(py: Python<'_>, act: impl FnOnce() -> T + Send) -> T {
    match Section::begin() {
        Some(_section) => py.detach(act),
        None => act(),
    }
}

/// Whether the interpreter ends.
pub(crate) fn has_ended() -> bool {
    state().has_ended
}

/// Has Python call [`wait_for_sections`] at its end.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_sections, module)?;
    let atexit = module.py().import("atexit")?;
    // A process that was forked has none of the threads.
    atexit.call_method1("register", (wait, process::id()))?;
    Ok(())
}

/// Waits until all sections have ended, or until a signal's handler raises an exception.
#[pyfunction]
fn wait_for_sections(py: Python<'_>, process: u32) -> PyResult<()> {
    if process != process::id() {
        return Ok(());
    }
    loop {
        let sections = py.detach(|| {
            let mut state = state();
            state.has_ended = true;
            let waited = CHANGED.wait_timeout_while(state, INTERVAL, |state| state.sections > 0);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.sections
        });
        if sections == 0 {
            return Ok(());
        }
        py.check_signals()?;
    }
}
