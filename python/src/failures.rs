//! The exceptions of failed calls, so that the error of a launch can name one as its cause.
//!
//! Calls on GPUs do not name their launch. Their failures count against all launches that can call, and so
//! do their exceptions here.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{PyErr, Python};
use revoff_host::{CallError, LaunchError, RuntimeError};

/// The most exceptions to keep for each launch, and for all launches that calls do not name. The error of a
/// launch is about its first failed call, and no more calls run at a time than threads serve them. An
/// exception keeps the arguments of its call.
const KEPT: usize = 64;

/// The exceptions of a runtime's launches.
#[derive(Default)]
pub(crate) struct Failures(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of launches and exceptions so far.
    count: u64,
    /// The numbers of the launches that have not ended.
    active: BTreeSet<u64>,
    exceptions: Vec<Failure>,
}

/// A call that raised an exception.
struct Failure {
    number: u64,
    /// The identifier of its launch; 0 if the call does not name it.
    launch: u32,
    function: String,
    message: String,
    exception: PyErr,
}

impl State {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

impl Failures {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the exception of a call of a launch; `message` is the text that host-rt has of it.
    pub(crate) fn add(&self, launch: u32, function: &str, message: String, exception: PyErr) {
        let mut state = self.state();
        let kept = state.exceptions.iter().filter(|kept| kept.launch == launch);
        // The function of an aborted launch may fail when no launch waits any more.
        if !state.active.is_empty() && kept.count() < KEPT {
            let number = state.next();
            state.exceptions.push(Failure {
                number,
                launch,
                function: function.to_owned(),
                message,
                exception,
            });
        }
    }

    /// Begins to keep the exceptions of a launch. Returns its number.
    pub(crate) fn begin(&self) -> u64 {
        let mut state = self.state();
        let number = state.next();
        state.active.insert(number);
        number
    }

    /// Ends that for the launch of this number, whose identifier is 0 if it has not started. Returns the
    /// exception that `error` is about.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        number: u64,
        launch: u32,
        error: Option<&RuntimeError>,
    ) -> Option<PyErr> {
        let mut state = self.state();
        let failed = error.and_then(failed_function);
        let found = state.exceptions.iter().find(|kept| {
            let is_of = kept.launch == launch || kept.launch == 0;
            // Another launch keeps the exceptions of calls that failed before this one began.
            kept.number > number && is_of && failed == Some((&kept.function, &kept.message))
        });
        let found = found.map(|kept| kept.exception.clone_ref(py));
        state.active.remove(&number);
        // No launch that has not ended began before those.
        let oldest = state.active.first().copied();
        let is_over = |kept: &mut Failure| {
            let is_named = launch != 0 && kept.launch == launch;
            is_named || oldest.is_none_or(|oldest| kept.number < oldest)
        };
        let over: Vec<_> = state.exceptions.extract_if(.., is_over).collect();
        // Dropping an exception may run Python code: not with the lock held.
        drop(state);
        drop(over);
        found
    }
}

/// The function whose error is that of the launch, and its message.
fn failed_function(error: &RuntimeError) -> Option<(&String, &String)> {
    let call = match error {
        RuntimeError::Launch(LaunchError::Call { first, .. }) => first,
        RuntimeError::Launch(LaunchError::Fault { failed_call, .. }) => failed_call.as_ref()?,
        _ => return None,
    };
    match call {
        CallError::Failed { function, message } => Some((function, message)),
        _ => None,
    }
}
