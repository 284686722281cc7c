//! Events of the system: all handlers are called, and where none takes an event, ROCr ends the
//! process. Of memory faults, and of exceptions of the hardware, it tells once.

use std::ffi::c_void;
use std::sync::Mutex;

use hsa_runtime_sys::*;
use standin::process::lock;

use crate::agent::gpu_agent;
use crate::state::{answer, state};

type Callback = unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

/// Of a kind that may come again.
const MEMORY_ERROR: hsa_amd_event_type_t = 2;

/// Who is told of events, and what was.
#[derive(Default)]
pub(crate) struct Events {
    /// Functions, and what they are called with.
    handlers: Mutex<Vec<(Callback, usize)>>,
    told: Mutex<Vec<hsa_amd_event_type_t>>,
}

impl Events {
    /// Tells of an event of this kind; whether somebody took it. None if nobody was told.
    pub(crate) fn tell(&self, kind: hsa_amd_event_type_t, gpu: usize) -> Option<hsa_status_t> {
        let mut told = lock(&self.told);
        if kind != MEMORY_ERROR && told.contains(&kind) {
            return None;
        }
        told.push(kind);
        drop(told);
        // SAFETY: of numbers, for which zeros will do.
        let mut event: hsa_amd_event_t = unsafe { std::mem::zeroed() };
        event.event_type = kind;
        // Those of the other kinds are no longer, and begin alike.
        event.__bindgen_anon_1.memory_fault = hsa_amd_gpu_memory_fault_info_t {
            agent: gpu_agent(gpu),
            virtual_address: 0xdead_0000,
            fault_reason_mask: 1,
        };
        let handlers = lock(&self.handlers).clone();
        let answers = handlers.into_iter().map(|(call, data)| {
            // SAFETY: the caller's function takes an event and its data.
            unsafe { call(&raw const event, data as *mut c_void) }
        });
        // All are called, whatever one of them answers.
        let answers: Vec<_> = answers.collect();
        if answers.contains(&HSA_STATUS_SUCCESS) {
            Some(HSA_STATUS_SUCCESS)
        } else {
            Some(HSA_STATUS_ERROR)
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_amd_register_system_event_handler(
    callback: hsa_amd_system_event_callback_t,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_register_system_event_handler", |state| {
        let call = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let handler = (call, data.expose_provenance());
        lock(&state.events.handlers).push(handler);
        Ok(())
    })
}

/// No function of ROCr's: tells of an event, and returns what was answered; -1 if nobody was
/// told.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_tell_event(kind: hsa_amd_event_type_t, gpu: u32) -> i64 {
    let answer = state().events.tell(kind, gpu as usize);
    answer.map_or(-1, i64::from)
}
