//! Counts of calls by function, which `REVOFF_EMU_CALLS` asks for.

use std::collections::BTreeMap;
use std::io::{Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, Once};

use crate::process::{SettingError, at_exit, is_forked, lock, number};

static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

static IS_WANTED: LazyLock<Result<bool, SettingError>> =
    LazyLock::new(|| Ok(number("REVOFF_EMU_CALLS", 0)? != 0));

/// How many [`uncounted`] are running.
static UNCOUNTED: AtomicU64 = AtomicU64::new(0);

/// Counts a call.
pub fn add(function: &str) {
    if !are_uncounted() {
        add_calls(function, 1);
    }
}

/// Runs `run`. Calls that any thread makes meanwhile are not counted, and no failures are injected.
pub fn uncounted<T>(run: impl FnOnce() -> T) -> T {
    struct Uncounted;

    impl Drop for Uncounted {
        fn drop(&mut self) {
            // Relaxed: as below.
            UNCOUNTED.fetch_sub(1, Ordering::Relaxed);
        }
    }

    // Relaxed: a thread that calls on behalf of `run` was started or woken by it.
    UNCOUNTED.fetch_add(1, Ordering::Relaxed);
    let _until_it_ends = Uncounted;
    run()
}

/// Whether an [`uncounted`] is running.
pub(crate) fn are_uncounted() -> bool {
    // Relaxed: as in `uncounted`.
    UNCOUNTED.load(Ordering::Relaxed) > 0
}

/// Notes that a program has the address of a function, which it may call.
pub fn note(function: &str) {
    add_calls(function, 0);
}

fn add_calls(function: &str, calls: u64) {
    if !IS_WANTED.as_ref().is_ok_and(|&is_wanted| is_wanted) {
        return;
    }
    let mut counts = lock(&COUNTS);
    match counts.get_mut(function) {
        Some(count) => *count += calls,
        None => {
            counts.insert(function.to_owned(), calls);
        }
    }
}

/// The counts so far, also those of functions that were looked up and not called.
#[must_use]
pub fn counted() -> BTreeMap<String, u64> {
    lock(&COUNTS).clone()
}

extern "C" fn print() {
    if is_forked() {
        return;
    }
    let mut errors = stderr().lock();
    for (function, count) in lock(&COUNTS).iter().filter(|(_, count)| **count > 0) {
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
