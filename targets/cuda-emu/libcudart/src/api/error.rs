//! Errors.

use std::ffi::c_char;

use crate::driver::driver;
use crate::error::Error;
use crate::thread::{last_error, set_last_error};

/// Returns the thread's last error, and forgets it.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    let last = last_error();
    set_last_error(0);
    last
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    last_error()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: u32) -> *const c_char {
    Error(error).name().as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: u32) -> *const c_char {
    if let Some(text) = Error(error).text() {
        return text.as_ptr().cast();
    }
    let mut text = std::ptr::null();
    let found = driver().and_then(|driver| driver.cuGetErrorString(error, &raw mut text));
    match found {
        Ok(()) => text,
        Err(_) => Error(error).name().as_ptr().cast(),
    }
}
