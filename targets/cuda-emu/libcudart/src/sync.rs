//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex; a panic of another thread has left no partial change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
