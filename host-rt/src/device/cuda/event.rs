//! Places in streams.

use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult, CUstream};

use super::context::Context;
use super::functions;
use super::stream::Readback;
use crate::base::lock::{lock, take};
use crate::device::{DeviceError, Event, EventState};

/// A place in a queue.
pub(super) struct CudaEvent {
    events: Arc<Events>,
    pub(super) raw: CUevent,
    /// What has arrived when it is reached.
    readbacks: Vec<Arc<Readback>>,
    /// Why it counts as failed when it is reached.
    failed: Option<String>,
    /// The ends of kernels that call the host and come before it.
    callers: Vec<Arc<CudaEvent>>,
}

// SAFETY: events may be used by any number of threads.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    fn context(&self) -> &Context {
        &self.events.context
    }

    /// Brings these to their targets once the event is found reached, and fails it then if there is
    /// a reason; `callers` are what the event stands behind.
    pub(super) fn of_queue(
        &mut self,
        readbacks: Vec<Arc<Readback>>,
        failed: Option<String>,
        callers: Vec<Arc<CudaEvent>>,
    ) {
        self.readbacks = readbacks;
        self.failed = failed;
        self.callers = callers;
    }

    /// The ends of kernels that call the host and that a wait for the event waits for.
    pub(super) fn callers(&self) -> &[Arc<CudaEvent>] {
        &self.callers
    }

    /// Why it is known to fail, if it is.
    pub(super) fn reason(&self) -> Option<&String> {
        self.failed.as_ref()
    }

    /// Marks the place after everything in the stream so far.
    pub(super) fn record(&self, stream: CUstream) -> Result<(), DeviceError> {
        // SAFETY: both handles are alive.
        let code = unsafe { functions::cuEventRecord(self.raw, stream) };
        self.context().check_progress("cuEventRecord", code)
    }

    /// Whether it is reached, well or not.
    pub(super) fn query(&self) -> Option<Result<(), String>> {
        let answer = self.context().enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { functions::cuEventQuery(self.raw) };
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

    /// Sleeps until it is reached, well or not.
    pub(super) fn sleep(&self) -> Result<(), String> {
        let slept = self.context().enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { functions::cuEventSynchronize(self.raw) };
            self.context().check_progress("cuEventSynchronize", code)
        });
        self.reached(slept)
    }

    /// The stream has got there, or never will.
    fn reached(&self, how: Result<(), DeviceError>) -> Result<(), String> {
        let mut how = how.map_err(|error| error.to_string());
        for readback in &self.readbacks {
            match &how {
                // SAFETY: the stream has got behind the copies. Who waited for one before
                // did so by such an event, or by a queue, which finishes them, too.
                Ok(()) => how = unsafe { readback.finish() },
                Err(why) => readback.give_up(why),
            }
        }
        how.and_then(|()| self.failed.clone().map_or(Ok(()), Err))
    }
}

impl Event for CudaEvent {
    fn check(&self) -> EventState {
        match self.query() {
            None => EventState::Pending,
            Some(Ok(())) => EventState::Done,
            Some(Err(reason)) => EventState::Failed(reason),
        }
    }

    fn sync(&self) -> Result<(), String> {
        self.sleep()
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
        // Streams that wait for it go on to wait for what was recorded.
        self.events.put(self.raw);
    }
}

/// The events of a device, of which some wait to be used again.
pub(super) struct Events {
    context: Arc<Context>,
    waiting: Mutex<Vec<CUevent>>,
}

/// Events that wait to be used again, at most. They are small.
const MOST_WAITING: usize = 1024;

// SAFETY: events may be used by any number of threads.
unsafe impl Send for Events {}
// SAFETY: as above.
unsafe impl Sync for Events {}

impl Events {
    pub(super) fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            waiting: Mutex::default(),
        })
    }

    /// An event whose waiters sleep. The context has been entered.
    pub(super) fn take(self: &Arc<Self>) -> Result<CudaEvent, DeviceError> {
        let waiting = lock(&self.waiting).pop();
        let raw = match waiting {
            Some(raw) => raw,
            None => {
                let mut raw = null_mut();
                let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32
                    | CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
                // SAFETY: the function writes the handle.
                let code = unsafe { functions::cuEventCreate(&raw mut raw, flags) };
                self.context.check("cuEventCreate", code)?;
                raw
            }
        };
        Ok(CudaEvent {
            events: Arc::clone(self),
            raw,
            readbacks: Vec::new(),
            failed: None,
            callers: Vec::new(),
        })
    }

    fn put(&self, raw: CUevent) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < MOST_WAITING {
            waiting.push(raw);
        } else {
            drop(waiting);
            self.destroy(raw);
        }
    }

    /// Destroys one that nobody else has.
    fn destroy(&self, raw: CUevent) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `take`, and nobody else's.
            let code = unsafe { functions::cuEventDestroy_v2(raw) };
            // Nothing is left to be done about it.
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
