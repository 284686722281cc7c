//! State of the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A handle: unique, larger than earlier ones, and not an address.
#[must_use]
pub fn handle() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x5afe_0000_0000_0001);
    // Relaxed: only uniqueness matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A number from the environment.
///
/// # Errors
/// It is not a number: what to tell the user.
pub fn number(name: &str, default: u64) -> Result<u64, String> {
    match std::env::var(name) {
        Ok(text) => {
            let number = text.parse();
            number.map_err(|_| format!("{name}={text:?}: a number expected"))
        }
        Err(_) => Ok(default),
    }
}

/// As [`number`].
///
/// # Panics
/// It is not a number.
#[must_use]
pub fn setting(name: &str, default: u64) -> u64 {
    number(name, default).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Ignores poisoning: the data is consistent at every point where a panic could happen.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
