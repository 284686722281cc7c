//! State of the process.

use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

/// A handle: unique, larger than earlier ones, and not an address.
#[must_use]
pub fn handle() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x5afe_0000_0000_0001);
    // Relaxed: only uniqueness matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An invalid value in the environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?}: {expected} expected")]
pub struct SettingError {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub expected: String,
}

/// A value from the environment, as `read` reads it.
///
/// # Errors
/// `read` rejects it: it is none of the `expected` values.
pub fn value<T>(
    name: &'static str,
    default: T,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, SettingError> {
    let Ok(value) = std::env::var(name) else {
        return Ok(default);
    };
    read(&value).ok_or_else(|| SettingError {
        name,
        value,
        expected: expected.to_owned(),
    })
}

/// A number from the environment.
///
/// # Errors
/// It is not a number.
pub fn number(name: &'static str, default: u64) -> Result<u64, SettingError> {
    value(name, default, "a number", |text| text.parse().ok())
}

/// A number from the environment, of a range.
///
/// # Errors
/// It is no such number.
pub fn number_in(
    name: &'static str,
    default: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, SettingError> {
    let expected = format!("a number from {} to {}", range.start(), range.end());
    let read = |text: &str| text.parse().ok().filter(|number| range.contains(number));
    value(name, default, &expected, read)
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

/// The process that has registered functions.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Whether this process is a forked child of the one that has registered functions by [`at_exit`], which has copies of
/// its locks.
#[must_use]
pub fn is_forked() -> bool {
    PROCESS
        .get()
        .is_some_and(|&process| process != std::process::id())
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Registers a function to be called when the process exits, once for all calls with the same `once`. A function that
/// prints asks [`is_forked`] first. Without memory, it is not called.
pub fn at_exit(once: &Once, function: extern "C" fn()) {
    PROCESS.get_or_init(std::process::id);
    once.call_once(|| {
        // SAFETY: the function is there when it is called. The drivers' libraries are linked with `nodelete` (their
        // `build.rs`), so that they are never unloaded; from another library that contains this crate, glibc calls the
        // function before it unloads the library.
        let _ = unsafe { atexit(function) };
    });
}

/// Ignores poisoning: the data is consistent at every point where a panic could happen.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
