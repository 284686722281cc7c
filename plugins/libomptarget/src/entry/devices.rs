//! OpenMP's routines about devices: their numbers and names, and their mapping tables.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Arc, Mutex};

use crate::device::Device;
use crate::locks::lock;
use crate::registry::{self, construct};
use crate::report::message;

#[unsafe(no_mangle)]
extern "C" fn omp_get_num_devices() -> c_int {
    registry::device_count() as c_int
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_initial_device() -> c_int {
    match omp_get_num_devices() {
        0 => -1,
        devices => devices,
    }
}

/// The number of the caller's device: the host.
#[unsafe(no_mangle)]
extern "C" fn omp_get_device_num() -> c_int {
    omp_get_initial_device()
}

/// The device with this number; `None` for the host.
pub(super) fn device(number: c_int) -> Option<Arc<Device>> {
    (number != omp_get_initial_device()).then(|| registry::device(i64::from(number)))
}

/// Prints the mapping tables.
#[unsafe(no_mangle)]
extern "C" fn ompx_dump_mapping_tables() {
    for (number, lines) in construct::all_tables() {
        for line in lines {
            message::print(format_args!("omptarget device {number} info: {line}"));
        }
    }
}

/// Names of devices that programs have requested, which stay valid.
static UIDS: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// The unique name of a device: its name and number.
fn uid(number: c_int) -> String {
    match device(number) {
        None => "HOST".to_owned(),
        Some(device) => format!("{}-{}", device.name, device.number),
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_uid_from_device(number: c_int) -> *const c_char {
    if number != omp_get_initial_device() && !(0..omp_get_num_devices()).contains(&number) {
        return std::ptr::null();
    }
    let Ok(uid) = CString::new(uid(number)) else {
        return std::ptr::null();
    };
    let mut uids = lock(&UIDS);
    if let Some(known) = uids.iter().find(|known| **known == uid) {
        return known.as_ptr();
    }
    // A string's content does not move with the string.
    let text = uid.as_ptr();
    uids.push(uid);
    text
}

/// The device with this unique name.
///
/// # Safety
/// `wanted` is null or a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_device_from_uid(wanted: *const c_char) -> c_int {
    /// OpenMP's number of no device.
    const INVALID: c_int = -2;
    if wanted.is_null() {
        return INVALID;
    }
    // SAFETY: the caller passes a C string, which is not null, as was just checked.
    let wanted = unsafe { CStr::from_ptr(wanted) }.to_string_lossy();
    let numbers = (0..omp_get_num_devices()).chain([omp_get_initial_device()]);
    let mut found = numbers.filter(|&number| uid(number) == wanted);
    found.next().unwrap_or(INVALID)
}
