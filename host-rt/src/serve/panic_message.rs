//! Messages of caught panics.

use std::any::Any;
use std::mem;

/// The message of a caught panic. Leaks the payload, because its drop might panic too.
pub(super) fn message_of(panic: Box<dyn Any + Send>) -> String {
    let message = panic_message(&*panic);
    mem::forget(panic);
    message
}

/// The message in a panic's payload.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".to_owned())
}
