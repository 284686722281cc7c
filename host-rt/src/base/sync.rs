//! The synchronisation primitives of code that models explore: that of `task`, and in `serve` the
//! code that decides which thread polls, sleeps and is woken. tests/model replaces this file.

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::{Builder, JoinHandle, scope, yield_now};
pub(crate) use std::thread_local;

pub(crate) use super::lock::{lock, wait};

/// A mutex that no thread waits for.
pub(crate) type Token<T> = Mutex<T>;
pub(crate) type TokenGuard<'a, T> = MutexGuard<'a, T>;

/// The token if no thread holds it, even after a panic of the last holder.
pub(crate) fn try_lock<T>(token: &Token<T>) -> Option<TokenGuard<'_, T>> {
    match token.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => {
            token.clear_poison();
            Some(poisoned.into_inner())
        }
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waits for at most `time`; also returns whether it has passed.
pub(crate) fn wait_timeout<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    time: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let waited = condvar.wait_timeout(guard, time);
    let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
    (guard, result.timed_out())
}
