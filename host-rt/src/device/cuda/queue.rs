//! Queues: a stream each, whose small copies go through pinned memory.

use std::ptr::{NonNull, copy_nonoverlapping};
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::CudaDevice;
use super::event::{CudaEvent, Known};
use super::functions::Code;
use super::launch;
use super::stream::Stream;
use crate::device::bounds::{BEYOND, check_word, unreachable};
use crate::device::gpu::readback::Arrival;
use crate::device::{
    DeviceAddr, DeviceError, Event, Fault, Fill, Global, Grid, LaunchContext, Module, Params,
    Queue, Running,
};

/// A queue.
pub(super) struct CudaQueue {
    /// Taken by the drop.
    stream: Option<Stream>,
    /// The owner of the stream after the queue.
    device: Arc<CudaDevice>,
    /// The reason why an event that the host waited for failed.
    failed: Option<Fault>,
}

impl CudaQueue {
    /// A queue of `device`, in `stream`.
    pub(super) fn new(device: Arc<CudaDevice>, stream: Stream) -> Self {
        Self {
            stream: Some(stream),
            device,
            failed: None,
        }
    }

    fn parts(&self) -> &Stream {
        match &self.stream {
            Some(stream) => stream,
            None => unreachable!("the stream is taken by the drop alone"),
        }
    }

    fn parts_mut(&mut self) -> &mut Stream {
        match &mut self.stream {
            Some(stream) => stream,
            None => unreachable!("the stream is taken by the drop alone"),
        }
    }

    /// Whether new operations would follow a kernel that calls the host and has not ended.
    pub(super) fn is_behind_callers(&mut self) -> bool {
        let callers = &mut self.parts_mut().callers;
        callers.retain(|end| end.query().is_none());
        !callers.is_empty()
    }

    /// Waits for those kernels.
    pub(super) fn wait_for_callers(&mut self) {
        for end in std::mem::take(&mut self.parts_mut().callers) {
            // Waiting for the kernel reports its outcome.
            let _ = end.sleep();
        }
    }

    /// Rejects new operations until the next [`Queue::synchronize`].
    pub(super) fn fail(&mut self, reason: Fault) {
        self.failed.get_or_insert(reason);
    }

    /// Whether the driver can wait for the event.
    pub(super) fn knows(event: &dyn Event) -> bool {
        event.downcast_ref::<CudaEvent>().is_some() || event.downcast_ref::<Known>().is_some()
    }

    /// Rejects operations after a failure.
    fn check_failed(&self) -> Result<(), DeviceError> {
        match self.failed.clone() {
            Some(reason) => Err(DeviceError::DependencyFailed { reason }),
            None => Ok(()),
        }
    }

    /// The result of a copy; `address` is the device's.
    fn copied(
        &self,
        call: &'static str,
        code: Code,
        address: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        if code == CUresult::CUDA_ERROR_INVALID_VALUE {
            return Err(unreachable(address, len as u64, BEYOND));
        }
        self.parts().context.check(call, code)
    }
}

impl Queue for CudaQueue {
    fn alloc(&mut self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        self.check_failed()?;
        let memory = &self.device.memory;
        let allocated = memory.alloc_in(self.parts(), bytes, fill)?;
        allocated.ok_or_else(|| memory.too_small_for(bytes))
    }

    unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check_failed()?;
        let context = Arc::clone(&self.parts().context);
        let _entered = context.enter()?;
        let source = match self.parts_mut().stage(len) {
            Some(staged) => {
                // SAFETY: the caller vouches for `from`; the room is used only by this copy until
                // `synchronize`.
                unsafe { copy_nonoverlapping(from, staged.as_ptr(), len) };
                staged.as_ptr().cast_const()
            }
            None => from,
        };
        // SAFETY: the source does not change until `synchronize`, by the caller's promise or
        // because it is staged; the driver checks the device's range.
        let code = unsafe {
            context
                .cu()
                .cuMemcpyHtoDAsync_v2(to.0, source.cast(), len, self.parts().raw)
        };
        self.copied("cuMemcpyHtoDAsync", code, to, len)
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check_failed()?;
        let context = Arc::clone(&self.parts().context);
        let _entered = context.enter()?;
        let staged = self.parts_mut().stage(len);
        let target = staged.map_or(to, NonNull::as_ptr);
        // SAFETY: the target belongs to the queue until `synchronize`, by the caller's promise or
        // because it is staged; the driver checks the device's range.
        let code = unsafe {
            context
                .cu()
                .cuMemcpyDtoHAsync_v2(target.cast(), from.0, len, self.parts().raw)
        };
        self.copied("cuMemcpyDtoHAsync", code, from, len)?;
        if let Some(staged) = staged {
            self.parts_mut().arrives(staged, to, len);
        }
        Ok(())
    }

    fn copy_on_device(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check_failed()?;
        let context = Arc::clone(&self.parts().context);
        let _entered = context.enter()?;
        // SAFETY: both ranges are device memory; the driver checks them too.
        let code = unsafe {
            context
                .cu()
                .cuMemcpyDtoDAsync_v2(to.0, from.0, len, self.parts().raw)
        };
        self.copied("cuMemcpyDtoDAsync", code, to, len)
    }

    fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError> {
        check_word(to)?;
        if self.parts().is_full_for(4) {
            self.synchronize()?;
        }
        // Edge `R2`, completing end, for callers whose word is in device memory. The stream is in
        // order, so earlier copies have arrived, and an aligned word is one transaction of the copy
        // engine.
        //
        // SAFETY: the word is copied to the staging memory at once.
        unsafe { self.copy_to_device(to, (&raw const word).cast(), 4) }
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        self.check_failed()?;
        let (device, stream) = (&self.device, self.parts().raw);
        // SAFETY: the caller of `Queue::launch` vouches for the kernel and its parameters.
        let launch =
            unsafe { launch::start(device, stream, module, kernel, grid, params, context)? };
        if let Some(end) = launch.end_of_caller {
            // The kernel ends after all kernels that precede it.
            self.parts_mut().callers = vec![end];
        }
        Ok(launch.running)
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        let failed = self.failed.clone();
        let (events, stream) = (Arc::clone(&self.device.events), self.parts_mut());
        let readbacks = stream.readbacks();
        let recorded = stream.context.enter().and_then(|_entered| {
            let mut event = events.take()?;
            event.record(stream.raw)?;
            event.arrival = Arrival {
                readbacks,
                failed: failed.clone(),
            };
            event.callers = stream.callers.clone();
            Ok(event)
        });
        match recorded {
            Ok(event) => Arc::new(event),
            // The event is reached once the queue gets there.
            Err(error) => {
                tracing::warn!(%error, "waiting for a queue instead of marking a place");
                // `synchronize` has to report the failure still.
                let waited = self.parts_mut().synchronize();
                let waited = waited.map_err(|error| Fault::from(&error));
                Arc::new(Known(waited.and(failed.map_or(Ok(()), Err))))
            }
        }
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        let stream = self.parts();
        let known = event.downcast_ref::<CudaEvent>();
        if let Some(reason) = known.and_then(|event| event.arrival.failed.as_ref()) {
            self.failed.get_or_insert_with(|| reason.clone());
            return;
        }
        let waits = known.map(|event| {
            let _entered = stream.context.enter()?;
            // SAFETY: both handles are alive; events of all GPUs are allowed.
            let code = unsafe {
                stream
                    .context
                    .cu()
                    .cuStreamWaitEvent(stream.raw, event.raw, 0)
            };
            stream.context.check("cuStreamWaitEvent", code)
        });
        match waits {
            Some(Ok(())) => {
                let callers = &mut self.parts_mut().callers;
                for end in known.iter().flat_map(|event| &event.callers) {
                    if !callers.iter().any(|caller| Arc::ptr_eq(caller, end)) {
                        callers.push(Arc::clone(end));
                    }
                }
                return;
            }
            Some(Err(error)) => tracing::warn!(%error, "a queue waits on the host instead"),
            // An event of another kind of device, which the driver does not know.
            None => {}
        }
        if let Err(reason) = event.sync() {
            self.failed.get_or_insert(reason);
        }
    }

    fn can_wait_for(&self, event: &dyn Event) -> bool {
        Self::knows(event)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let synchronized = self.parts_mut().synchronize();
        // Checked after the copies: if another thread has found the context lost and has given up
        // pending copies to the host, they have not arrived.
        let failed = self
            .check_failed()
            .and_then(|()| self.parts().context.check_lost());
        self.failed = None;
        synchronized.and(failed)
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            stream.drop_pending();
            self.device.streams.put(stream);
        }
    }
}
