//! The synchronisation primitives of `threads` and `change_flag`. Their models in tests/model
//! replace this file.

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

pub(super) use crate::base::lock::{lock, wait};

/// A mutex that no thread waits for.
pub(super) type Token<T> = Mutex<T>;
pub(super) type TokenGuard<'a, T> = MutexGuard<'a, T>;

/// The token if no thread holds it, even after a panic of the last holder.
pub(super) fn try_lock<T>(token: &Token<T>) -> Option<TokenGuard<'_, T>> {
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
pub(super) fn wait_timeout<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    time: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let waited = condvar.wait_timeout(guard, time);
    let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
    (guard, result.timed_out())
}
