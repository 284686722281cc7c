//! Faults that cannot reach the target by a panic. An emulated driver catches its own panics, since they must not reach
//! C, and returns an error, which looks like any other. A panic of a function that a driver calls would end the process.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

/// The folder whose panics nobody catches but the test, which knows of them. All others are faults: those of the
/// drivers, of the libraries that they use, and of `core` for them.
const OWN: &str = "tests/fuzz/";

/// The first fault.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Notices panics from now on.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            note(info);
            before(info);
        }));
    });
}

fn note(info: &PanicHookInfo<'_>) {
    let file = info.location().map(|location| location.file());
    if !file.is_some_and(|file| file.contains(OWN)) {
        keep(format!("a panic that a driver may have caught: {info}"));
    }
}

/// Keeps a fault, if it is the first one.
fn keep(fault: String) {
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    first.get_or_insert(fault);
}

/// An assertion in a function that a driver calls, where a panic would end the process.
pub(crate) fn expect(holds: bool, what: &str) {
    if !holds {
        keep(what.to_owned());
    }
}

/// Panics if there was a fault.
pub(crate) fn check() {
    let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(first) = first {
        panic!("{first}");
    }
}
