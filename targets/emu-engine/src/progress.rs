//! The progress of a launch: which blocks have begun and ended, and its result.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long other blocks may run after a fault, in patiences. They may wait for the thread that faulted.
const PATIENCES_AFTER_FAULT: u32 = 3;

/// Called once with the result of a launch.
pub type OnEnd<F> = Box<dyn FnOnce(Result<(), F>) + Send>;

/// The progress of a launch.
pub struct Progress<F> {
    blocks: u64,
    processors: u32,
    patience: Duration,
    submitted: Instant,
    state: Mutex<State<F>>,
    ended: Condvar,
    stop: AtomicBool,
    /// When the first thread faulted.
    faulted: OnceLock<Instant>,
    instructions: AtomicU64,
}

impl<F> std::fmt::Debug for Progress<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress")
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

struct State<F> {
    /// Blocks that have begun, and blocks that have ended.
    begun: u64,
    done: u64,
    fault: Option<F>,
    /// A block was stopped before its end.
    is_cut: bool,
    is_over: bool,
    call: Option<OnEnd<F>>,
}

impl<F: Clone> Progress<F> {
    /// That of a launch of `blocks` blocks, which begins, on so many processors. It calls `ended` with
    /// the result. Threads that make no progress for `patience` may loop forever.
    #[must_use]
    pub fn new(blocks: u64, processors: u32, patience: Duration, ended: OnEnd<F>) -> Self {
        Self {
            blocks,
            processors,
            patience,
            submitted: Instant::now(),
            state: Mutex::new(State {
                begun: 0,
                done: 0,
                fault: None,
                is_cut: false,
                is_over: false,
                call: Some(ended),
            }),
            ended: Condvar::new(),
            stop: AtomicBool::new(false),
            faulted: OnceLock::new(),
            instructions: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks for each processor.
    pub(crate) fn share(&self) -> u64 {
        self.blocks.div_ceil(self.processors.into())
    }

    /// The time since it was submitted.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.submitted.elapsed()
    }

    /// The next block to run.
    pub(crate) fn take_block(&self) -> Option<u64> {
        let mut state = self.state();
        if !self.begins_more(&state) {
            return None;
        }
        state.begun += 1;
        Some(state.begun - 1)
    }

    /// Whether there are blocks that have not begun.
    pub(crate) fn begins_blocks(&self) -> bool {
        self.begins_more(&self.state())
    }

    /// After a fault no more blocks begin.
    fn begins_more(&self, state: &State<F>) -> bool {
        state.fault.is_none() && !self.is_stopped() && state.begun < self.blocks
    }

    /// Ends the launch as soon as possible.
    pub fn stop(&self) {
        let _state = self.state();
        // Relaxed: see `is_stopped`.
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether blocks are to end before their time.
    pub fn is_stopped(&self) -> bool {
        // Advisory for threads that run blocks; others hold the lock.
        self.stop.load(Ordering::Relaxed)
            || self
                .faulted
                .get()
                .is_some_and(|since| since.elapsed() > PATIENCES_AFTER_FAULT * self.patience)
    }

    /// Whether the result is known.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// A thread has faulted; the first fault is the launch's.
    pub fn fail(&self, fault: F) {
        self.state().fault.get_or_insert(fault);
        self.faulted.get_or_init(Instant::now);
    }

    /// Counts instructions.
    pub fn count(&self, instructions: u64) {
        // Relaxed: a sum. A thread that has waited for the end sees all of it, by the lock of `state`.
        self.instructions.fetch_add(instructions, Ordering::Relaxed);
    }

    /// Instructions that lanes have executed so far.
    pub fn instructions(&self) -> u64 {
        // Relaxed: as above; until the end it may be a part of the sum.
        self.instructions.load(Ordering::Relaxed)
    }

    /// Waits for the end, at most until `until`; `None` if the launch still runs. `stopped` is the fault
    /// of one that was stopped.
    pub fn wait(
        &self,
        until: Option<Instant>,
        stopped: impl FnOnce() -> F,
    ) -> Option<Result<(), F>> {
        let mut state = self.state();
        while !state.is_over {
            state = match until {
                None => self
                    .ended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.checked_duration_since(Instant::now())?;
                    let waited = self.ended.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        Some(self.result(&state, stopped))
    }

    fn result(&self, state: &State<F>, stopped: impl FnOnce() -> F) -> Result<(), F> {
        match &state.fault {
            Some(fault) => Err(fault.clone()),
            None if state.done < self.blocks || state.is_cut => Err(stopped()),
            None => Ok(()),
        }
    }

    /// A block has ended, or was stopped.
    pub(crate) fn end_block(&self, is_cut: bool) {
        let mut state = self.state();
        state.done += 1;
        state.is_cut |= is_cut;
    }

    /// Ends the launch if all begun blocks have ended: calls `finish`, and then the launch's callback.
    pub(crate) fn end_if_over(&self, finish: impl FnOnce(), stopped: impl FnOnce() -> F) {
        let mut state = self.state();
        if state.done < state.begun || self.begins_more(&state) {
            return;
        }
        let Some(call) = state.call.take() else {
            return;
        };
        drop(state);
        // Waiting threads must be notified even if one of these panics.
        let _ = panic::catch_unwind(AssertUnwindSafe(finish));
        let result = self.result(&self.state(), stopped);
        let _ = panic::catch_unwind(AssertUnwindSafe(|| call(result)));
        self.state().is_over = true;
        self.ended.notify_all();
    }
}
