//! Counts of calls by function, which `REVOFF_EMU_COUNTS` asks for.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{LazyLock, Mutex};

use emu_driver::process::{SettingError, lock, number};

static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

static IS_WANTED: LazyLock<Result<bool, SettingError>> =
    LazyLock::new(|| Ok(number("REVOFF_EMU_COUNTS", 0)? != 0));

/// Counts a call.
pub(crate) fn add(function: &str) {
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

#[expect(clippy::print_stderr, reason = "the program does not read our log")]
extern "C" fn print() {
    for (function, count) in &*lock(&COUNTS) {
        eprintln!("emulated GPU: {count} calls of {function}");
    }
}

/// Prints the counts when the process exits, if they are wanted.
///
/// # Errors
/// The setting is invalid.
pub(crate) fn print_at_exit() -> Result<(), &'static SettingError> {
    if *IS_WANTED.as_ref()? {
        // SAFETY: the function stays: this library is never unloaded. It fails only without memory, and then
        // nothing is printed.
        let _ = unsafe { atexit(print) };
    }
    Ok(())
}
