//! Properties of the runtime, and descriptions of statuses.

use std::ffi::{CStr, c_char, c_void};

use hsa_runtime_sys::*;

use crate::state::answer;

#[unsafe(no_mangle)]
extern "C" fn hsa_shut_down() -> hsa_status_t {
    answer("hsa_shut_down", |_| Ok(()))
}

/// # Safety
/// `text` is valid for a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_status_string(
    status: hsa_status_t,
    text: *mut *const c_char,
) -> hsa_status_t {
    const TEXTS: [(hsa_status_t, &CStr); 4] = [
        (HSA_STATUS_ERROR, c"HSA_STATUS_ERROR: A generic error has occurred."),
        (
            HSA_STATUS_ERROR_OUT_OF_RESOURCES,
            c"HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.",
        ),
        (
            HSA_STATUS_ERROR_EXCEPTION,
            c"HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.",
        ),
        (
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is invalid.",
        ),
    ];
    let known = TEXTS.iter().find(|(known, _)| *known == status);
    // SAFETY: the caller's promise.
    unsafe { text.write(known.map_or(std::ptr::null(), |(_, text)| text.as_ptr())) };
    match known {
        Some(_) => HSA_STATUS_SUCCESS,
        None => HSA_STATUS_ERROR_INVALID_ARGUMENT,
    }
}

/// Ticks of its clock in a second: it counts nanoseconds.
const FREQUENCY: u64 = 1_000_000_000;

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_system_get_info(
    what: hsa_system_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_system_get_info", |_| match what {
        HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY => {
            // SAFETY: the caller's promise.
            unsafe { value.cast::<u64>().write(FREQUENCY) };
            Ok(())
        }
        HSA_AMD_SYSTEM_INFO_BUILD_VERSION => {
            // SAFETY: the caller's promise.
            unsafe { value.cast::<*const c_char>().write(c"stand-in".as_ptr()) };
            Ok(())
        }
        HSA_SYSTEM_INFO_VERSION_MAJOR | HSA_SYSTEM_INFO_VERSION_MINOR => {
            // SAFETY: the caller's promise.
            unsafe { value.cast::<u16>().write(1) };
            Ok(())
        }
        _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    })
}
