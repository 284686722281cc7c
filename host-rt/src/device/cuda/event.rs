//! Places in streams.

use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUevent, CUevent_flags, CUresult, CUstream};

use super::context::Context;
use crate::device::{Event, EventState};
use crate::error::DeviceError;

/// A place in a queue.
pub(super) struct CudaEvent {
    context: Arc<Context>,
    pub(super) raw: CUevent,
}

// SAFETY: events may be used by any number of threads.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// An event whose waiters sleep. The context has been entered.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let mut raw = null_mut();
        let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32
            | CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the function writes the handle.
        let code = unsafe { sys::cuEventCreate(&raw mut raw, flags) };
        context.check("cuEventCreate", code)?;
        Ok(Self {
            context: Arc::clone(context),
            raw,
        })
    }

    /// Marks the place after everything in the stream so far.
    pub(super) fn record(&self, stream: CUstream) -> Result<(), DeviceError> {
        // SAFETY: both handles are alive.
        let code = unsafe { sys::cuEventRecord(self.raw, stream) };
        self.context.check_progress("cuEventRecord", code)
    }

    /// Whether it is reached, well or not.
    pub(super) fn query(&self) -> Option<Result<(), DeviceError>> {
        let answer = self.context.enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { sys::cuEventQuery(self.raw) };
            if code == CUresult::CUDA_ERROR_NOT_READY {
                return Ok(false);
            }
            let reached = self.context.check_progress("cuEventQuery", code);
            reached.map(|()| true)
        });
        match answer {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Sleeps until it is reached, well or not.
    pub(super) fn sleep(&self) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: the handle is alive.
        let code = unsafe { sys::cuEventSynchronize(self.raw) };
        self.context.check_progress("cuEventSynchronize", code)
    }
}

impl Event for CudaEvent {
    fn check(&self) -> EventState {
        match self.query() {
            None => EventState::Pending,
            Some(Ok(())) => EventState::Done,
            Some(Err(error)) => EventState::Failed(error.to_string()),
        }
    }

    fn sync(&self) -> Result<(), String> {
        self.sleep().map_err(|error| error.to_string())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync> {
        self
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `new`, and nobody else's.
            let code = unsafe { sys::cuEventDestroy_v2(self.raw) };
            // Nothing is left to be done about it.
            let _ = self.context.check("cuEventDestroy", code);
        }
    }
}

/// A place of which all is known.
pub(super) struct Known(pub(super) Result<(), String>);

impl Event for Known {
    fn check(&self) -> EventState {
        self.sync()
            .map_or_else(EventState::Failed, |()| EventState::Done)
    }

    fn sync(&self) -> Result<(), String> {
        self.0.clone()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync> {
        self
    }
}
