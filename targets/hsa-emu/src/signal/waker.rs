//! Wakers of threads that wait for signals.
//!
//! A waiting thread first adds its waker to the signals, then checks their values; a thread that changes a
//! value first does so, and then looks for wakers. Edge *wake-up* is sequentially consistent at both ends: one
//! of the two threads sees the other.
//!
//! Kernels change values without calling anything here, as do programs that have asked for a value's address.
//! Waiting threads therefore poll as well: often while a kernel runs, and rarely otherwise.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use emu_driver::process::lock;

/// The time between polls while a kernel runs, or a value's address is known.
const SOON: Duration = Duration::from_millis(1);

/// The time between polls otherwise. A kernel may have begun after the last one.
const LATER: Duration = Duration::from_millis(20);

/// The number of kernels that run.
static KERNELS: AtomicUsize = AtomicUsize::new(0);

/// A kernel runs, until this is dropped.
#[derive(Debug)]
pub(crate) struct KernelActivity(());

impl KernelActivity {
    pub(crate) fn new() -> Self {
        // Relaxed: it decides only how often waits poll.
        KERNELS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for KernelActivity {
    fn drop(&mut self) {
        // Relaxed: as above.
        KERNELS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Wakes one thread.
#[derive(Debug, Default)]
pub(crate) struct Waker {
    is_woken: Mutex<bool>,
    condvar: Condvar,
}

impl Waker {
    /// Wakes its thread, or keeps it from sleeping next time.
    pub(crate) fn wake(&self) {
        *lock(&self.is_woken) = true;
        self.condvar.notify_one();
    }

    /// Sleeps until it is woken, at most for some time.
    fn sleep(&self, time: Duration) {
        let woken = lock(&self.is_woken);
        let result = self
            .condvar
            .wait_timeout_while(woken, time, |woken| !*woken);
        *result.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// The wakers of threads that wait for something.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    count: AtomicUsize,
    list: Mutex<Vec<Arc<Waker>>>,
}

impl Wakers {
    pub(crate) fn add(&self, waker: &Arc<Waker>) {
        lock(&self.list).push(Arc::clone(waker));
        // SeqCst, with the fence: edge *wake-up*, the waiting end.
        self.count.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, waker: &Arc<Waker>) {
        let mut list = lock(&self.list);
        if let Some(at) = list.iter().position(|other| Arc::ptr_eq(other, waker)) {
            list.swap_remove(at);
            // Relaxed: a thread that sees the old count finds no waker.
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Wakes all, after a change.
    pub(crate) fn wake(&self) {
        // SeqCst, with the fence: edge *wake-up*, the waking end.
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) > 0 {
            lock(&self.list).iter().for_each(|waker| waker.wake());
        }
    }
}

/// Waits until `is_so` holds or the deadline passes; returns whether it holds. The caller has added the waker to all
/// `Wakers` of what `is_so` depends on. `may_change_unseen`: a program may change it without a call.
pub(crate) fn wait_until(
    waker: &Waker,
    until: Option<Instant>,
    may_change_unseen: bool,
    mut is_so: impl FnMut() -> bool,
) -> bool {
    loop {
        if is_so() {
            return true;
        }
        // Relaxed: it decides only how often this polls.
        let is_soon = may_change_unseen || KERNELS.load(Ordering::Relaxed) > 0;
        let mut time = if is_soon { SOON } else { LATER };
        if let Some(until) = until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            time = time.min(left);
        }
        waker.sleep(time);
    }
}
