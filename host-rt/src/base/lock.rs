//! Mutexes that outlive panics.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Locks a mutex, also after a panic of who had it: for what no panic leaves half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`Condvar::wait`], of a mutex that is locked so.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// As [`wait`], but not longer than until `until`: `Err` if that is over.
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

/// Takes what a mutex holds, which is unlocked again when this returns: in the head of a `for` loop
/// a guard would live as long as the loop.
pub(crate) fn take<T: Default>(mutex: &Mutex<T>) -> T {
    std::mem::take(&mut *lock(mutex))
}
