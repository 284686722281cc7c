//! Mutexes that outlive panics.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic of who had it: for what no panic leaves half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`Condvar::wait`], of a mutex that is locked so.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Takes what a mutex holds, which is unlocked again when this returns: in the head of a `for` loop
/// a guard would live as long as the loop.
pub(crate) fn take<T: Default>(mutex: &Mutex<T>) -> T {
    std::mem::take(&mut *lock(mutex))
}
