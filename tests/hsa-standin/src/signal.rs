//! Signals, and the callbacks for their changes.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use emu_driver::process::{handle, lock};
use hsa_runtime_sys::*;

use crate::state::{Answer, State, answer, state};

/// A signal.
pub(crate) struct Cell(AtomicI64);

/// Counts changes of all signals.
static CHANGES: Mutex<u64> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// Wakes all waiting threads.
pub(crate) fn notify() {
    *lock(&CHANGES) += 1;
    CHANGED.notify_all();
}

/// Waits until `is_so`, for whose changes [`notify`] is called; returns whether it holds at
/// `until`.
pub(crate) fn wait_until(until: Option<Instant>, is_so: impl Fn() -> bool) -> bool {
    let mut changes = lock(&CHANGES);
    loop {
        if is_so() {
            return true;
        }
        let left = match until {
            None => Duration::from_secs(1),
            Some(until) => until.saturating_duration_since(Instant::now()),
        };
        if left.is_zero() {
            return false;
        }
        let waited = CHANGED.wait_timeout(changes, left);
        changes = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl Cell {
    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self, value: i64) {
        self.0.store(value, Ordering::Release);
        notify();
    }

    /// Called when an operation is done.
    pub(crate) fn count_down(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
        notify();
    }
}

impl State {
    /// The signal with this handle.
    pub(crate) fn signal(&self, signal: hsa_signal_t) -> Answer<Arc<Cell>> {
        let found = lock(&self.signals).get(&signal.handle).cloned();
        found.ok_or(HSA_STATUS_ERROR_INVALID_SIGNAL)
    }

    pub(crate) fn new_signal(&self, value: i64) -> (hsa_signal_t, Arc<Cell>) {
        let handle = handle();
        let cell = Arc::new(Cell(AtomicI64::new(value)));
        lock(&self.signals).insert(handle, Arc::clone(&cell));
        (hsa_signal_t { handle }, cell)
    }
}

/// For functions that cannot return an error.
fn known(signal: hsa_signal_t) -> Arc<Cell> {
    match state().signal(signal) {
        Ok(cell) => cell,
        Err(_) => panic!("signal {:#x} is none, or was destroyed", signal.handle),
    }
}

/// # Safety
/// `signal` is valid for a handle.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_signal_create(
    value: i64,
    consumers: u32,
    list: *const hsa_agent_t,
    signal: *mut hsa_signal_t,
) -> hsa_status_t {
    answer("hsa_signal_create", |state| {
        if signal.is_null() || consumers != 0 || !list.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe { signal.write(state.new_signal(value).0) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_signal_destroy(signal: hsa_signal_t) -> hsa_status_t {
    answer("hsa_signal_destroy", |state| {
        let cell = lock(&state.signals).remove(&signal.handle);
        let cell = cell.ok_or(HSA_STATUS_ERROR_INVALID_SIGNAL)?;
        // No operation, packet or handler may own it. One that has just ended may be about to drop
        // it.
        let until = Instant::now() + Duration::from_secs(5);
        while Arc::strong_count(&cell) > 1 {
            assert!(Instant::now() < until, "a signal is destroyed in use");
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_signal_load_scacquire(signal: hsa_signal_t) -> i64 {
    known(signal).get()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_signal_store_relaxed(signal: hsa_signal_t, value: i64) {
    known(signal).set(value);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_signal_store_screlease(signal: hsa_signal_t, value: i64) {
    known(signal).set(value);
}

fn is_met(condition: hsa_signal_condition_t, value: i64, other: i64) -> bool {
    match condition {
        HSA_SIGNAL_CONDITION_EQ => value == other,
        HSA_SIGNAL_CONDITION_NE => value != other,
        HSA_SIGNAL_CONDITION_LT => value < other,
        _ => value >= other,
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_signal_wait_scacquire(
    signal: hsa_signal_t,
    condition: hsa_signal_condition_t,
    other: i64,
    nanoseconds: u64,
    _how: hsa_wait_state_t,
) -> i64 {
    let cell = known(signal);
    let until = Instant::now().checked_add(Duration::from_nanos(nanoseconds));
    wait_until(until, || is_met(condition, cell.get(), other));
    cell.get()
}

/// The callbacks for changes of signals.
#[derive(Default)]
pub(crate) struct Handlers(Mutex<Vec<Handler>>);

struct Handler {
    cell: Arc<Cell>,
    condition: hsa_signal_condition_t,
    other: i64,
    call: unsafe extern "C" fn(i64, *mut c_void) -> bool,
    argument: usize,
}

impl Handler {
    fn is_due(&self) -> bool {
        is_met(self.condition, self.cell.get(), self.other)
    }
}

/// Starts calling handlers.
pub(crate) fn start_handlers() {
    let run = || {
        let handlers = &state().handlers.0;
        loop {
            wait_until(None, || lock(handlers).iter().any(Handler::is_due));
            let due = {
                let mut handlers = lock(handlers);
                let at = handlers.iter().position(Handler::is_due);
                at.map(|at| handlers.remove(at))
            };
            let Some(handler) = due else { continue };
            let (value, argument) = (handler.cell.get(), handler.argument as *mut c_void);
            let call = handler.call;
            // From here on, handlers that are done own nothing of the signal.
            let again = (handler.cell, handler.condition, handler.other);
            let weak = Arc::downgrade(&again.0);
            drop(again.0);
            // SAFETY: the caller's function takes a value and its argument.
            if unsafe { call(value, argument) }
                && let Some(cell) = weak.upgrade()
            {
                lock(handlers).push(Handler {
                    cell,
                    condition: again.1,
                    other: again.2,
                    call,
                    argument: argument.expose_provenance(),
                });
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    let _ = thread.spawn(run).expect("a thread");
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_signal_async_handler(
    signal: hsa_signal_t,
    condition: hsa_signal_condition_t,
    value: i64,
    handler: hsa_amd_signal_handler,
    argument: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_signal_async_handler", |state| {
        let handler = Handler {
            cell: state.signal(signal)?,
            condition,
            other: value,
            call: handler.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?,
            argument: argument.expose_provenance(),
        };
        lock(&state.handlers.0).push(handler);
        notify();
        Ok(())
    })
}
