//! Catches panics of the application's log subscriber where nothing may unwind or a thread must
//! continue.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code to its end or to a panic, which can only be the log subscriber's. So code here logs
/// only after its essential work.
pub(crate) fn catch_panic(run: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        // Its drop may panic, too.
        std::mem::forget(panic);
    }
}
