//! Places in streams.

use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult, CUstream};

use super::context::Context;
use crate::base::lock::{lock, take};
use crate::device::gpu::readback::Arrival;
use crate::device::{DeviceError, Event, EventState, MappedMemory, Outcome};

/// A position in a queue.
pub(super) struct CudaEvent {
    events: Arc<Events>,
    pub(super) raw: CUevent,
    pub(super) arrival: Arrival<Arc<MappedMemory>>,
    /// The ends of kernels that call the host and precede it.
    pub(super) callers: Vec<Arc<CudaEvent>>,
}

// SAFETY: events may be used by any number of threads.
unsafe impl Send for CudaEvent {}
// SAFETY: `raw` is a handle, and the driver allows its use by all threads.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    fn context(&self) -> &Context {
        &self.events.context
    }

    /// Marks the place after everything in the stream so far.
    pub(super) fn record(&self, stream: CUstream) -> Result<(), DeviceError> {
        // SAFETY: both handles are alive.
        let code = unsafe { self.context().cu().cuEventRecord(self.raw, stream) };
        self.context().check_progress("cuEventRecord", code)
    }

    /// Whether it is reached, and the outcome.
    pub(super) fn query(&self) -> Option<Outcome> {
        let answer = self.context().enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { self.context().cu().cuEventQuery(self.raw) };
            if code == CUresult::CUDA_ERROR_NOT_READY {
                return Ok(false);
            }
            let reached = self.context().check_progress("cuEventQuery", code);
            reached.map(|()| true)
        });
        match answer {
            Ok(false) => None,
            Ok(true) => Some(self.reached(Ok(()))),
            Err(error) => Some(self.reached(Err(error))),
        }
    }

    /// Sleeps until it is reached; returns the outcome.
    pub(super) fn sleep(&self) -> Outcome {
        let slept = self.context().enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { self.context().cu().cuEventSynchronize(self.raw) };
            self.context().check_progress("cuEventSynchronize", code)
        });
        self.reached(slept)
    }

    /// Called when the stream has reached the event, or never will.
    fn reached(&self, how: Result<(), DeviceError>) -> Outcome {
        // SAFETY: the stream has passed the copies. An earlier wait for one of them used such an
        // event, or the queue, which finishes them too.
        unsafe { self.arrival.reached(how) }
    }
}

impl Event for CudaEvent {
    fn check(&self) -> EventState {
        self.query().into()
    }

    fn sync(&self) -> Outcome {
        self.sleep()
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // Streams that wait for the event continue to wait for the recorded place.
        self.events.put(self.raw);
    }
}

/// The events of a device, including unused ones kept for reuse.
pub(super) struct Events {
    context: Arc<Context>,
    waiting: Mutex<Vec<CUevent>>,
}

/// The maximum number of unused events. They are small.
const MAX_WAITING: usize = 1024;

// SAFETY: events may be used by any number of threads.
unsafe impl Send for Events {}
// SAFETY: the handles are behind a mutex, and the driver allows their use by all threads.
unsafe impl Sync for Events {}

impl Events {
    pub(super) fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            waiting: Mutex::default(),
        })
    }

    /// An event for waits that sleep. The context must be current.
    pub(super) fn take(self: &Arc<Self>) -> Result<CudaEvent, DeviceError> {
        let waiting = lock(&self.waiting).pop();
        let raw = match waiting {
            Some(raw) => raw,
            None => {
                let mut raw = null_mut();
                let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32
                    | CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
                // SAFETY: the function writes the handle.
                let code = unsafe { self.context.cu().cuEventCreate(&raw mut raw, flags) };
                self.context.check("cuEventCreate", code)?;
                raw
            }
        };
        Ok(CudaEvent {
            events: Arc::clone(self),
            raw,
            arrival: Arrival::default(),
            callers: Vec::new(),
        })
    }

    fn put(&self, raw: CUevent) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < MAX_WAITING {
            waiting.push(raw);
        } else {
            drop(waiting);
            self.destroy(raw);
        }
    }

    /// Destroys an event that nothing else uses.
    fn destroy(&self, raw: CUevent) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `take`, and no longer used.
            let code = unsafe { self.context.cu().cuEventDestroy_v2(raw) };
            // Nothing else can be done about a failure.
            let _ = self.context.check("cuEventDestroy", code);
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        for raw in take(&self.waiting) {
            self.destroy(raw);
        }
    }
}

/// A place with a known outcome.
pub(super) struct Known(pub(super) Outcome);

impl Event for Known {
    fn check(&self) -> EventState {
        Some(self.sync()).into()
    }

    fn sync(&self) -> Outcome {
        self.0.clone()
    }
}
