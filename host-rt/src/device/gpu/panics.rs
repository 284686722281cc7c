//! Panics of the application's log subscriber, where nothing may unwind or a thread must go on.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs something to its end, or to a panic, which is one of the application's subscriber:
/// nothing else that is run so panics. What must be done is done before the log is told.
pub(in crate::device) fn catch_panic(run: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        // Its drop may panic, too.
        std::mem::forget(panic);
    }
}
