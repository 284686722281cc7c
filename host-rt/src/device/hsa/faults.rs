//! Kernel faults that ROCr reports: queues that it stops, and accesses to unmapped memory.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use hsa_runtime_sys::{
    HSA_AMD_GPU_MEMORY_FAULT_EVENT as MEMORY_FAULT, HSA_STATUS_ERROR, HSA_STATUS_SUCCESS,
    hsa_amd_event_t, hsa_amd_event_type_t, hsa_queue_t, hsa_status_t,
};

use super::context::Context;
use super::runtime::words;
use crate::base::catch_panic::catch_panic;
use crate::device::DeviceError;

/// Events of newer headers than ours: a GPU hang or memory error, and memory that cannot be freed.
/// Source: ROCr, `hsa_ext_amd.h`.
const HW_EXCEPTION: hsa_amd_event_type_t = 1;
const MEMORY_ERROR: hsa_amd_event_type_t = 2;

/// A fault that ROCr reports once per process, for any GPU. Source: ROCr, `Runtime::VMFaultHandler`
/// and `Runtime::HwExceptionHandler`, whose callbacks are not called again.
struct FaultNotice {
    is_reported: AtomicBool,
    /// The fault's description, for a device that cannot be opened.
    description: &'static str,
    /// The consequence for an open device.
    consequence: &'static str,
}

static FAULT: FaultNotice = FaultNotice {
    is_reported: AtomicBool::new(false),
    description: "a kernel of this process has faulted, and ROCr reports one memory fault per process",
    consequence: "a kernel that accesses unmapped memory will not end on this one",
};

static EXCEPTION: FaultNotice = FaultNotice {
    is_reported: AtomicBool::new(false),
    description: "a GPU of this process has hung, or its memory has failed, and ROCr reports that once \
            per process",
    consequence: "kernels will not end on this one if it hangs",
};

/// Rejects a device whose faults ROCr would not report.
pub(super) fn check_unreported(device: &str) -> Result<(), DeviceError> {
    for notice in [&FAULT, &EXCEPTION] {
        // Acquire pairs with the release of the callback: a device that the fault lost is seen as
        // lost.
        if notice.is_reported.load(Ordering::Acquire) {
            return Err(DeviceError::NotSuitable {
                device: device.to_owned(),
                reason: format!("{}: start a new process", notice.description),
            });
        }
    }
    Ok(())
}

/// Called by a ROCr thread when a queue fails. `agent` is a handle rather than a pointer, since the
/// device may be gone by then.
pub(super) unsafe extern "C" fn on_queue_error(
    status: hsa_status_t,
    _queue: *mut hsa_queue_t,
    agent: *mut c_void,
) {
    let agent = agent.addr() as u64;
    if status == HSA_STATUS_SUCCESS {
        return;
    }
    for context in Context::all() {
        if context.agent.handle == agent {
            catch_panic(|| {
                context.lose(format!("a kernel failed: {}", words(context.rocr, status)));
            });
        }
    }
}

/// Called by the emulated ROCr for events, which it reports each time.
pub(super) unsafe extern "C" fn on_emulated_event(
    event: *const hsa_amd_event_t,
    _data: *mut c_void,
) -> hsa_status_t {
    // SAFETY: the event is valid while this runs, and the data of all kinds begin with the agent.
    let agent = unsafe { (&raw const (*event).__bindgen_anon_1.memory_fault.agent).read() };
    let contexts = Context::all().into_iter();
    let ours: Vec<_> = contexts
        .filter(|context| context.agent.handle == agent.handle)
        .collect();
    for context in &ours {
        catch_panic(|| drop(context.lose("a kernel has faulted".to_owned())));
    }
    match ours.is_empty() {
        true => HSA_STATUS_ERROR,
        false => HSA_STATUS_SUCCESS,
    }
}

/// Called by a ROCr thread for events of the system, as are all other registered handlers. If no
/// handler accepts an event, ROCr prints it and ends the process; this applies to events of other
/// GPUs and of unknown kinds.
pub(super) unsafe extern "C" fn on_system_event(
    event: *const hsa_amd_event_t,
    _data: *mut c_void,
) -> hsa_status_t {
    // SAFETY: ROCr passes an event, which is valid while this runs.
    let kind = unsafe { (*event).event_type };
    if kind > MEMORY_ERROR {
        return HSA_STATUS_ERROR;
    }
    // SAFETY: the data of all these kinds begin with the agent.
    let agent = unsafe { (&raw const (*event).__bindgen_anon_1.memory_fault.agent).read() };
    let (reason, notice) = match kind {
        MEMORY_FAULT => {
            // SAFETY: an event of this kind has this data.
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
        // Release pairs with the acquire of a thread that opens a device.
        notice.is_reported.store(true, Ordering::Release);
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
                    notice.description,
                    notice.consequence
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

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;
    use std::sync::Arc;

    use hsa_emu::Arch;
    use hsa_runtime_sys::{hsa_agent_t, hsa_amd_gpu_memory_fault_info_t};

    use super::*;
    use crate::base::env::Env;
    use crate::device::OpenOptions;
    use crate::device::hsa::emulated::Emulated;
    use crate::device::hsa::runtime::emulated;

    /// A GPU that is emulated, which the handler for ROCr's events does not see.
    fn gpu(name: &str) -> Arc<Context> {
        let env = Env::default();
        let options = OpenOptions {
            env: &env,
            trace: None,
            host_stack: None,
            costs: None,
        };
        let rocr = emulated(on_emulated_event).expect("it starts");
        let gpu = Emulated::add(Arch::Gfx90a, &options).expect("memory for a GPU");
        Context::of_emulated(rocr, gpu, name.to_owned()).expect("a GPU")
    }

    /// Calls the handler; returns whether it accepts the event.
    fn handle(event_type: hsa_amd_event_type_t, agent: hsa_agent_t) -> bool {
        // SAFETY: all fields are numbers.
        let mut event: hsa_amd_event_t = unsafe { std::mem::zeroed() };
        event.event_type = event_type;
        event.__bindgen_anon_1.memory_fault = hsa_amd_gpu_memory_fault_info_t {
            agent,
            virtual_address: 0xdead_0000,
            fault_reason_mask: 1,
        };
        // SAFETY: the event is there, and the handler takes no data.
        let status = unsafe { on_system_event(&raw const event, null_mut()) };
        status == HSA_STATUS_SUCCESS
    }

    #[track_caller]
    fn assert_lost(context: &Context, words: &str) {
        let error = context.check_lost().expect_err("it is lost").to_string();
        assert!(error.contains(words), "no {words:?}: {error}");
    }

    /// An event loses the GPU that it is about, and no other. One test, since some events are known to the
    /// whole process.
    #[test]
    fn events_of_rocr_lose_one_gpu() {
        let [first, second, third, fine] = ["emu:a", "emu:b", "emu:c", "emu:d"].map(gpu);
        let foreign = hsa_agent_t { handle: 1 };
        for kind in [MEMORY_ERROR, MEMORY_ERROR + 1] {
            assert!(!handle(kind, foreign), "event {kind}");
        }
        assert!(!handle(MEMORY_ERROR + 1, first.agent), "an unknown event");
        first.check_lost().expect("it is not lost");
        check_unreported("hsa:0").expect("nothing was reported");

        assert!(handle(MEMORY_ERROR, first.agent));
        assert_lost(&first, "cannot be given back");
        check_unreported("hsa:0").expect("it is reported each time");

        assert!(handle(HW_EXCEPTION, second.agent));
        assert_lost(&second, "hangs");
        let hung = check_unreported("hsa:0").expect_err("the next would be unknown");
        let hung = hung.to_string();
        for words in ["`hsa:0`", "has hung", "once per process", "new process"] {
            assert!(hung.contains(words), "no {words:?}: {hung}");
        }

        // Although another runtime may handle it.
        assert!(!handle(MEMORY_FAULT, foreign));
        let fault = check_unreported("hsa:1").expect_err("the next would be unknown");
        let fault = fault.to_string();
        for words in ["`hsa:1`", "one memory fault per process", "new process"] {
            assert!(fault.contains(words), "no {words:?}: {fault}");
        }
        assert!(handle(MEMORY_FAULT, third.agent));
        assert_lost(&third, "address 0xdead0000");
        fine.check_lost().expect("nothing was about it");
    }
}
