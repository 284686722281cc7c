//! What ROCr tells of kernels that fault: of a queue that it stops, and of an access to memory
//! that is not there.

use std::ffi::c_void;

use hsa_runtime_sys::{
    HSA_AMD_GPU_MEMORY_FAULT_EVENT, HSA_STATUS_SUCCESS, hsa_amd_event_t, hsa_queue_t, hsa_status_t,
};

use super::context::Context;
use super::runtime::words;

/// Called by a thread of ROCr's when a queue fails. `device` is a number rather than a pointer:
/// the device may be gone by then.
pub(super) unsafe extern "C" fn on_queue_error(
    status: hsa_status_t,
    _queue: *mut hsa_queue_t,
    device: *mut c_void,
) {
    let number = device.addr();
    if status == HSA_STATUS_SUCCESS {
        return;
    }
    Context::lose_all(
        |context| context.number as usize == number,
        |context| format!("a kernel failed: {}", words(context.rocr, status)),
    );
}

/// Called by a thread of ROCr's for events of the system. Where nobody takes them, ROCr ends
/// the process.
pub(super) unsafe extern "C" fn on_system_event(
    event: *const hsa_amd_event_t,
    _data: *mut c_void,
) -> hsa_status_t {
    // SAFETY: ROCr passes an event, which stays while this runs.
    let kind = unsafe { (*event).event_type };
    if kind == HSA_AMD_GPU_MEMORY_FAULT_EVENT {
        // SAFETY: of an event of this kind, this is what is there.
        let fault = unsafe { (*event).__bindgen_anon_1.memory_fault };
        Context::lose_all(
            |context| context.agent.handle == fault.agent.handle,
            |_| {
                format!(
                    "a kernel used address {:#x}, where it must not (reasons {:#x})",
                    fault.virtual_address, fault.fault_reason_mask
                )
            },
        );
    } else {
        Context::lose_all(|_| true, |_| format!("ROCr tells of event {kind}"));
    }
    HSA_STATUS_SUCCESS
}
