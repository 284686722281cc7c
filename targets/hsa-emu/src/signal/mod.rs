//! Signals. A signal is an `amd_signal_t`, and its handle is the address, so that kernels can use it.
//!
//! | file | job |
//! |---|---|
//! | `waker` | wakers of waiting threads |
//! | `table` | table of signals by handle |
//! | `handlers` | functions that are called when a signal changes |

mod handlers;
mod table;
mod waker;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use hsa_runtime_sys::*;

pub(crate) use self::handlers::{Call, Function, Handler, Handlers};
pub(crate) use self::table::Signals;
pub(crate) use self::waker::{KernelActivity, Waker, Wakers, wait_until};
use crate::memory::Memory;

/// A signal.
pub(crate) struct Signal {
    memory: Arc<Memory>,
    /// Structure in memory that all GPUs may access.
    raw: NonNull<amd_signal_t>,
    /// Wakers of waiting threads.
    wakers: Wakers,
    /// Number of packets, copies and handlers that use the signal.
    uses: AtomicU32,
    is_destroyed: AtomicBool,
    /// Whether the program knows the value's address.
    is_exposed: AtomicBool,
    /// Maximum of the stored values, for doorbells that several threads ring.
    maximum: AtomicI64,
}

// SAFETY: it owns its memory, whose fields are accessed atomically.
unsafe impl Send for Signal {}
// SAFETY: its memory's fields are accessed atomically.
unsafe impl Sync for Signal {}

impl Drop for Signal {
    fn drop(&mut self) {
        self.memory.free_control(self.raw.cast());
    }
}

/// A comparison with a signal's value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(crate) kind: hsa_signal_condition_t,
    pub(crate) other: i64,
}

impl Condition {
    pub(crate) fn is_valid(self) -> bool {
        self.kind <= HSA_SIGNAL_CONDITION_GTE
    }

    pub(crate) fn is_met(self, value: i64) -> bool {
        match self.kind {
            HSA_SIGNAL_CONDITION_EQ => value == self.other,
            HSA_SIGNAL_CONDITION_NE => value != self.other,
            HSA_SIGNAL_CONDITION_LT => value < self.other,
            _ => value >= self.other,
        }
    }
}

impl Signal {
    /// Creates a signal; `None` if memory is exhausted.
    fn new(memory: &Arc<Memory>, value: i64) -> Option<Self> {
        let raw = memory.alloc_control(size_of::<amd_signal_t>())?.cast();
        let signal = Self {
            memory: Arc::clone(memory),
            raw,
            wakers: Wakers::default(),
            uses: AtomicU32::new(0),
            is_destroyed: AtomicBool::new(false),
            is_exposed: AtomicBool::new(false),
            maximum: AtomicI64::new(i64::MIN),
        };
        // Relaxed: not shared yet.
        signal.value().store(value, Ordering::Relaxed);
        // SAFETY: the field is aligned, in memory of this signal's.
        let kind = unsafe { AtomicI64::from_ptr(&raw mut (*raw.as_ptr()).kind) };
        kind.store(AMD_SIGNAL_KIND_USER.into(), Ordering::Relaxed);
        Some(signal)
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> hsa_signal_t {
        let handle = self.raw.as_ptr().expose_provenance() as u64;
        hsa_signal_t { handle }
    }

    /// The value. Call [`wake`](Self::wake) after changing it.
    pub(crate) fn value(&self) -> &AtomicI64 {
        // SAFETY: the field is aligned, and in memory that lives as long as this; kernels access it atomically.
        unsafe { AtomicI64::from_ptr(&raw mut (*self.raw.as_ptr()).__bindgen_anon_1.value) }
    }

    /// The times of its operation: start and end.
    fn times(&self) -> (&AtomicU64, &AtomicU64) {
        let raw = self.raw.as_ptr();
        // SAFETY: as for `value`.
        unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*raw).start_ts),
                AtomicU64::from_ptr(&raw mut (*raw).end_ts),
            )
        }
    }

    /// The address of its value, which the program may then change without a call.
    pub(crate) fn expose(&self) -> *mut i64 {
        // Relaxed: it decides only how often waits poll.
        self.is_exposed.store(true, Ordering::Relaxed);
        self.value().as_ptr()
    }

    /// Its value.
    pub(crate) fn get(&self) -> i64 {
        // Acquire: edge *signal value*; what came before the change of the value is visible.
        self.value().load(Ordering::Acquire)
    }

    /// Stores a value.
    pub(crate) fn set(&self, value: i64) {
        // Release: edge *signal value*; what came before is visible with the value.
        self.value().store(value, Ordering::Release);
        // Release: pairs with `maximum`; what came before is visible with the largest value too.
        self.maximum.fetch_max(value, Ordering::Release);
        self.wake();
    }

    /// Maximum of the current value and of all values that calls have stored.
    pub(crate) fn maximum(&self) -> i64 {
        // Acquire: pairs with `set`.
        self.get().max(self.maximum.load(Ordering::Acquire))
    }

    /// Wakes the threads that wait for it.
    pub(crate) fn wake(&self) {
        self.wakers.wake();
    }

    /// Sets the times of its operation.
    pub(crate) fn set_times(&self, from: u64, to: u64) {
        let (start, end) = self.times();
        // Relaxed: edge *signal value* publishes them.
        start.store(from, Ordering::Relaxed);
        end.store(to, Ordering::Relaxed);
    }

    /// The times of its operation, if it has one.
    pub(crate) fn operation_times(&self) -> Option<(u64, u64)> {
        let (start, end) = self.times();
        // Relaxed: see `set_times`.
        let times = (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
        (times.1 != 0).then_some(times)
    }

    /// Whether the signal is destroyed, so that it will not change.
    pub(crate) fn is_destroyed(&self) -> bool {
        // Acquire: edge *destroyed signal*.
        self.is_destroyed.load(Ordering::Acquire)
    }

    /// Adds a waker, which must be removed.
    pub(crate) fn add_waker(&self, waker: &Arc<Waker>) {
        self.wakers.add(waker);
    }

    pub(crate) fn remove_waker(&self, waker: &Arc<Waker>) {
        self.wakers.remove(waker);
    }

    /// Whether programs may change it without a call.
    pub(crate) fn may_change_unseen(&self) -> bool {
        // Relaxed: it decides only how often waits poll.
        self.is_exposed.load(Ordering::Relaxed)
    }
}

/// A use of a signal by a packet, a copy or a handler, which keeps it from being destroyed.
pub(crate) struct Use(Arc<Signal>);

impl Use {
    pub(super) fn of(signal: &Arc<Signal>) -> Self {
        // Relaxed: `Signals` takes uses under its lock.
        signal.uses.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(signal))
    }

    pub(crate) fn signal(&self) -> &Arc<Signal> {
        &self.0
    }

    /// Ends the use by a change of the value. A program that sees the change may destroy the signal.
    pub(crate) fn finish(self, change: impl FnOnce(&AtomicI64)) {
        let signal = Arc::clone(&self.0);
        drop(self);
        change(signal.value());
        signal.wake();
    }

    /// Ends the use of a completed operation.
    pub(crate) fn count_down(self) {
        // Release: edge *signal value*; what the operation wrote is visible with the value.
        self.finish(|value| {
            value.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // Release: edge *signal uses*; the operation no longer accesses the signal.
        self.0.uses.fetch_sub(1, Ordering::Release);
    }
}

/// Waits until a signal meets its condition, is destroyed, or the deadline passes. Returns the index and the value of
/// the first such signal.
pub(crate) fn wait_any(
    signals: &[(Arc<Signal>, Condition)],
    until: Option<Instant>,
) -> Option<(usize, i64)> {
    let waker = Arc::new(Waker::default());
    let mut found = None;
    let mut poll = || {
        found = signals
            .iter()
            .enumerate()
            .find_map(|(at, (signal, condition))| {
                let value = signal.get();
                (condition.is_met(value) || signal.is_destroyed()).then_some((at, value))
            });
        found.is_some()
    };
    if poll() {
        return found;
    }
    signals
        .iter()
        .for_each(|(signal, _)| signal.add_waker(&waker));
    let unseen = signals.iter().any(|(signal, _)| signal.may_change_unseen());
    wait_until(&waker, until, unseen, poll);
    signals
        .iter()
        .for_each(|(signal, _)| signal.remove_waker(&waker));
    found
}
