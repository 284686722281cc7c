//! Mutexes without poisoning.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Locks a mutex, even after a panic of its owner: for data that no panic leaves inconsistent.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Like [`Condvar::wait`], for a mutex locked by [`lock`].
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Like [`wait`], but at most until `until`: `Err` if that has passed.
pub(crate) fn wait_until<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Instant,
) -> Result<MutexGuard<'a, T>, MutexGuard<'a, T>> {
    match until.checked_duration_since(Instant::now()) {
        None => Err(guard),
        Some(left) => {
            let waited = condvar.wait_timeout(guard, left);
            Ok(waited.unwrap_or_else(PoisonError::into_inner).0)
        }
    }
}

/// Takes the value of a mutex, which is unlocked when this returns: in the head of a `for` loop a
/// guard would live as long as the loop.
pub(crate) fn take<T: Default>(mutex: &Mutex<T>) -> T {
    std::mem::take(&mut *lock(mutex))
}
