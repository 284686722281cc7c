//! System events. Every handler is called, and at least one must accept the event.

use std::ffi::c_void;
use std::sync::Mutex;

use emu_driver::process::lock;
use hsa_runtime_sys::*;

use crate::status::{Answer, Status};

/// A program's function for events.
pub(crate) type Callback =
    unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

/// The handlers of events.
#[derive(Default)]
pub(crate) struct Events {
    /// Functions with their data.
    handlers: Mutex<Vec<(Callback, usize)>>,
}

impl Events {
    /// Adds a handler.
    pub(crate) fn add(&self, callback: Callback, data: *mut c_void) -> Answer {
        lock(&self.handlers).push((callback, data.expose_provenance()));
        Ok(())
    }

    /// Forgets all handlers.
    pub(crate) fn clear(&self) {
        lock(&self.handlers).clear();
    }

    /// Reports an event of this kind. The structures of all kinds begin with the same fields.
    ///
    /// # Errors
    /// Every handler has rejected the event.
    pub(crate) fn report(
        &self,
        kind: hsa_amd_event_type_t,
        fault: hsa_amd_gpu_memory_fault_info_t,
    ) -> Answer {
        // SAFETY: a struct of numbers, for which zeros are valid.
        let mut event: hsa_amd_event_t = unsafe { std::mem::zeroed() };
        event.event_type = kind;
        event.__bindgen_anon_1.memory_fault = fault;
        let handlers = lock(&self.handlers).clone();
        let answers = handlers.into_iter().map(|(call, data)| {
            // SAFETY: the program's function takes an event and its data.
            unsafe { call(&raw const event, data as *mut c_void) }
        });
        // Every handler is called, whatever the others return.
        let answers: Vec<_> = answers.collect();
        let is_accepted = answers.contains(&HSA_STATUS_SUCCESS);
        is_accepted.then_some(()).ok_or(Status::ERROR)
    }
}
