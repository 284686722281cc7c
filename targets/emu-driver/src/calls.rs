//! Counts of calls by function, which `REVOFF_EMU_CALLS` asks for.

use std::collections::BTreeMap;
use std::io::{Write, stderr};
use std::sync::{LazyLock, Mutex, Once};

use crate::process::{SettingError, at_exit, is_forked, lock, number};

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

extern "C" fn print() {
    if is_forked() {
        return;
    }
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
        static ONCE: Once = Once::new();
        at_exit(&ONCE, print);
    }
    Ok(())
}
