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

/// A size from the environment, as [`parse_bytes`] reads it.
///
/// # Errors
/// It is no size: what to tell the user.
pub fn size(name: &str, default: u64) -> Result<u64, String> {
    match std::env::var(name) {
        Ok(text) => {
            let size = parse_bytes(&text);
            size.ok_or_else(|| format!("{name}={text:?}: a size expected, such as 16G"))
        }
        Err(_) => Ok(default),
    }
}

/// A size in bytes with an optional suffix K, M, G or T (powers of 1024).
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.len()
        - text
            .chars()
            .next_back()
            .filter(char::is_ascii_alphabetic)
            .map_or(0, char::len_utf8);
    let (digits, suffix) = text.split_at(split);
    let shift = match suffix.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
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
