//! Arguments from C callers that are pointers.

use crate::error::{CudaResult, Error};

/// Writes a result to the caller's variable.
pub(crate) fn write_out<T>(to: *mut T, value: T) -> CudaResult {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: not null, so a variable of the caller's, which NVIDIA's documentation requires to have this type.
    unsafe { to.write(value) };
    Ok(())
}

/// Reads the caller's structure.
pub(crate) fn read_in<T: Copy>(from: *const T) -> CudaResult<T> {
    if from.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: not null, so a structure of the caller's, which NVIDIA's documentation requires to have this type.
    Ok(unsafe { from.read() })
}
