//! What ROCr tells of kernels that fault: of a queue that it stops, and of an access to memory
//! that is not there.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use hsa_runtime_sys::{
    HSA_AMD_GPU_MEMORY_FAULT_EVENT as MEMORY_FAULT, HSA_STATUS_ERROR, HSA_STATUS_SUCCESS,
    hsa_amd_event_t, hsa_amd_event_type_t, hsa_queue_t, hsa_status_t,
};

use super::context::Context;
use super::runtime::words;
use crate::device::DeviceError;
use crate::device::gpu::panics::catch_panic;

/// Events of headers newer than ours: the GPU hangs or its memory is broken, and memory cannot be
/// given back. Source: ROCr, `hsa_ext_amd.h`.
const HW_EXCEPTION: hsa_amd_event_type_t = 1;
const MEMORY_ERROR: hsa_amd_event_type_t = 2;

/// A fault that ROCr reports once per process, whatever GPU it is of. Source: ROCr,
/// `Runtime::VMFaultHandler` and `Runtime::HwExceptionHandler`, which ask not to be called again.
struct FaultNotice {
    has_told: AtomicBool,
    /// What has been, and what will not be told of any more.
    words: &'static str,
    /// What comes of that on a device that is open.
    then: &'static str,
}

static FAULT: FaultNotice = FaultNotice {
    has_told: AtomicBool::new(false),
    words: "a kernel of this process has faulted, and ROCr tells of one memory fault per process",
    then: "a kernel that uses memory that is not there will not end on this one",
};

static EXCEPTION: FaultNotice = FaultNotice {
    has_told: AtomicBool::new(false),
    words: "a GPU of this process has hung, or its memory has broken, and ROCr tells of that once \
            per process",
    then: "kernels will not end on this one if it hangs",
};

/// Refuses a device whose faults ROCr would not tell of.
pub(super) fn check_told(device: &str) -> Result<(), DeviceError> {
    for notice in [&FAULT, &EXCEPTION] {
        // Acquire, with the release of who sets it: what is lost by it is lost.
        if notice.has_told.load(Ordering::Acquire) {
            return Err(DeviceError::NotSuitable {
                device: device.to_owned(),
                reason: format!("{}: start a new process", notice.words),
            });
        }
    }
    Ok(())
}

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
    for context in Context::all() {
        if context.number as usize == number {
            catch_panic(|| {
                context.lose(format!("a kernel failed: {}", words(context.rocr, status)));
            });
        }
    }
}

/// Called by a thread of ROCr's for events of the system, as are all that others have
/// registered. Where none of them takes an event, ROCr says what it is and ends the process: so
/// it is for events of GPUs that are not ours, and of kinds of which we do not know whose they
/// are.
pub(super) unsafe extern "C" fn on_system_event(
    event: *const hsa_amd_event_t,
    _data: *mut c_void,
) -> hsa_status_t {
    // SAFETY: ROCr passes an event, which stays while this runs.
    let kind = unsafe { (*event).event_type };
    if kind > MEMORY_ERROR {
        return HSA_STATUS_ERROR;
    }
    // SAFETY: the data of all these kinds begin with the agent that they are of.
    let agent = unsafe { (&raw const (*event).__bindgen_anon_1.memory_fault.agent).read() };
    let (reason, notice) = match kind {
        MEMORY_FAULT => {
            // SAFETY: of an event of this kind, this is what is there.
            let fault = unsafe { (*event).__bindgen_anon_1.memory_fault };
            let reason = format!(
                "a kernel used address {:#x}, where it must not (reasons {:#x})",
                fault.virtual_address, fault.fault_reason_mask
            );
            (reason, Some(&FAULT))
        }
        HW_EXCEPTION => {
            let reason = "the GPU hangs, or its memory is broken";
            (reason.to_owned(), Some(&EXCEPTION))
        }
        _ => {
            let reason = "memory that the GPU still uses cannot be given back";
            (reason.to_owned(), None)
        }
    };
    if let Some(notice) = notice {
        // Release, with the acquire of who opens a device.
        notice.has_told.store(true, Ordering::Release);
    }
    let (ours, others): (Vec<_>, Vec<_>) =
        (Context::all().into_iter()).partition(|context| context.agent.handle == agent.handle);
    let is_ours = !ours.is_empty();
    for context in &ours {
        catch_panic(|| drop(context.lose(reason.clone())));
    }
    if let Some(notice) = notice {
        for context in &others {
            catch_panic(|| {
                tracing::error!(
                    device = context.name(),
                    "this was another device: {}; {}; start a new process",
                    notice.words,
                    notice.then
                );
            });
        }
    }
    if is_ours {
        HSA_STATUS_SUCCESS
    } else {
        HSA_STATUS_ERROR
    }
}
