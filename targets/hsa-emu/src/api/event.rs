//! Events of the system.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use crate::event::Callback;
use crate::runtime::answer;
use crate::status::Status;

pub extern "C" fn hsa_amd_register_system_event_handler(
    callback: Option<Callback>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_register_system_event_handler", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        runtime.events.add(callback, data)
    })
}
