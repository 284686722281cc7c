//! Panics inside an emulated driver. The driver catches them, since they must not reach C, and returns an error, which
//! looks like any other.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

/// The folders whose panics are faults.
const FOLDERS: [&str; 2] = ["targets/", "device-arena/"];

/// The first panic.
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
    let of_driver = info.location().filter(|location| {
        let file = location.file();
        FOLDERS.iter().any(|folder| file.contains(folder))
    });
    if of_driver.is_some() {
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| info.to_string());
    }
}

/// Panics if there was a panic.
pub(crate) fn check() {
    let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(first) = first {
        panic!("an emulated driver panicked: {first}");
    }
}
