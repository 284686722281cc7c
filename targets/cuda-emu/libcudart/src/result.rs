//! The result of a function in C's form.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{CudaResult, Error};
use crate::thread::set_last_error;

/// A function's result in C's form, which is also the thread's last error if it is one.
pub(crate) fn to_c(run: impl FnOnce() -> CudaResult) -> u32 {
    // A panic must not reach C.
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Error(999)));
    let Err(error) = result else { return 0 };
    // "Not ready" is no error, and stays out of `cudaGetLastError`.
    if error != Error::NOT_READY {
        set_last_error(error.0);
    }
    error.0
}
