//! Events of the system: all handlers are called, and if none accepts an event, ROCr ends the
//! process. It reports memory faults and hardware exceptions once.

use std::ffi::c_void;
use std::sync::Mutex;

use emu_driver::process::lock;
use hsa_runtime_sys::*;

use crate::agent::gpu_agent;
use crate::state::{answer, state};

type Callback = unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

/// A kind that may occur again.
const MEMORY_ERROR: hsa_amd_event_type_t = 2;

/// The handlers of events, and the events so far.
#[derive(Default)]
pub(crate) struct Events {
    /// Functions, and their data.
    handlers: Mutex<Vec<(Callback, usize)>>,
    told: Mutex<Vec<hsa_amd_event_type_t>>,
}

impl Events {
    /// Reports an event of this kind; returns whether a handler accepted it. None if it was not
    /// reported.
    pub(crate) fn tell(&self, kind: hsa_amd_event_type_t, gpu: usize) -> Option<hsa_status_t> {
        let mut told = lock(&self.told);
        if kind != MEMORY_ERROR && told.contains(&kind) {
            return None;
        }
        told.push(kind);
        drop(told);
        // SAFETY: a struct of numbers, for which zeros are valid.
        let mut event: hsa_amd_event_t = unsafe { std::mem::zeroed() };
        event.event_type = kind;
        // Those of the other kinds are not longer, and begin alike.
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
        // All are called, independently of each other's results.
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

/// Not a function of ROCr's: reports an event, and returns the result; -1 if it was not reported.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_tell_event(kind: hsa_amd_event_type_t, gpu: u32) -> i64 {
    let answer = state().events.tell(kind, gpu as usize);
    answer.map_or(-1, i64::from)
}
