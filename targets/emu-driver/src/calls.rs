//! Counts of calls by function, which `REVOFF_EMU_CALLS` asks for.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io::{Write, stderr};
use std::sync::{LazyLock, Mutex};

use crate::process::{SettingError, lock, number};

static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

static IS_WANTED: LazyLock<Result<bool, SettingError>> =
    LazyLock::new(|| Ok(number("REVOFF_EMU_CALLS", 0)? != 0));

/// Counts a call.
pub fn add(function: &str) {
    if !IS_WANTED.as_ref().is_ok_and(|&is_wanted| is_wanted) {
        return;
    }
    let mut counts = lock(&COUNTS);
    match counts.get_mut(function) {
        Some(count) => *count += 1,
        None => {
            counts.insert(function.to_owned(), 1);
        }
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

extern "C" fn print() {
    let mut errors = stderr().lock();
    for (function, count) in &*lock(&COUNTS) {
        // The program does not read our log. A closed standard error is its business.
        let _ = writeln!(errors, "emulated GPU: {count} calls of {function}");
    }
}

/// Prints the counts when the process exits, if they are wanted.
///
/// # Errors
/// The setting is invalid.
pub fn print_at_exit() -> Result<(), &'static SettingError> {
    if *IS_WANTED.as_ref()? {
        // SAFETY: the function is there when it is called. The drivers' libraries are linked with `nodelete` (their
        // `build.rs`), so that they are never unloaded; from another library that contains this crate, glibc calls the function before
        // it unloads the library. Registering fails only without memory, and then nothing is printed.
        let _ = unsafe { atexit(print) };
    }
    Ok(())
}
