//! Queues that delay copies which the driver must not get yet.
//!
//! A copy occupies a connection to the device as soon as the driver gets it, and streams share few
//! connections. So a copy after a kernel can block other copies, including those that the host
//! needs to answer that kernel's calls: a deadlock. The driver therefore gets no copy after a
//! kernel that calls the host until that kernel has ended. Until then a thread holds the queue, and
//! everything queued after the copy waits there.
//!
//! Kernels and waits for events are not delayed by themselves: behind a kernel that waits for the
//! host, its own end occupies the connection already (docs/nvidia.md says when to have more
//! connections), and the host answers calls by copies alone. Source: CUDA C++ programming guide,
//! `CUDA_DEVICE_MAX_CONNECTIONS`.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use super::event::Known;
use super::promise::{PANICKED, Promised, promise};
use super::queue::CudaQueue;
use super::{CudaDevice, launch};
use crate::base::catch_panic::catch_panic;
use crate::base::lock::{lock, wait};
use crate::device::bounds::check_word;
use crate::device::{
    DeviceAddr, DeviceError, Event, EventState, Fault, Fill, Global, Grid, LaunchContext, Module,
    Outcome, Params, Queue, Running,
};

/// A queue.
pub(super) struct DeferringQueue {
    device: Arc<CudaDevice>,
    /// None while operations are deferred.
    direct: Option<CudaQueue>,
    deferred: Arc<Deferred>,
}

/// Operations that a thread queues later.
#[derive(Default)]
struct Deferred {
    state: Mutex<State>,
    /// Signalled when the thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    operations: VecDeque<Operation>,
    /// `None` while the thread is using it.
    queue: Option<CudaQueue>,
    has_thread: bool,
}

/// Queues an operation.
type Run = dyn FnOnce(&mut CudaQueue) -> Result<(), DeviceError> + Send;

/// An operation to be queued.
struct Operation {
    /// Whether it must not follow a kernel that calls the host.
    is_copy: bool,
    run: Box<Run>,
}

/// The caller's memory that a copy reads or writes.
struct HostMemory(*mut u8);

// SAFETY: by the promise of `Queue`'s copies, the caller leaves the memory alone until it has
// waited for the copy, on this queue or by an event, and both waits include the thread that holds
// it here.
unsafe impl Send for HostMemory {}

impl DeferringQueue {
    /// A queue of `device`.
    pub(super) fn new(device: Arc<CudaDevice>, queue: CudaQueue) -> Self {
        Self {
            device,
            direct: Some(queue),
            deferred: Arc::default(),
        }
    }

    /// The queue, if nothing is deferred.
    fn direct(&mut self) -> Option<&mut CudaQueue> {
        if self.direct.is_none() {
            let mut state = lock(&self.deferred.state);
            if !state.has_thread {
                self.direct = state.queue.take();
            }
        }
        self.direct.as_mut()
    }

    /// Queues a copy, or delays it.
    fn copy(
        &mut self,
        run: impl FnOnce(&mut CudaQueue) -> Result<(), DeviceError> + Send + 'static,
    ) -> Result<(), DeviceError> {
        if let Some(queue) = self.direct()
            && !queue.is_behind_callers()
        {
            return run(queue);
        }
        self.defer(true, run);
        Ok(())
    }

    fn defer(
        &mut self,
        is_copy: bool,
        run: impl FnOnce(&mut CudaQueue) -> Result<(), DeviceError> + Send + 'static,
    ) {
        let mut state = lock(&self.deferred.state);
        let run = Box::new(run);
        state.operations.push_back(Operation { is_copy, run });
        if let Some(queue) = self.direct.take() {
            state.queue = Some(queue);
        }
        if state.has_thread {
            return;
        }
        state.has_thread = true;
        drop(state);
        let deferred = Arc::clone(&self.deferred);
        let thread = std::thread::Builder::new().name("deferred copies".to_owned());
        if let Err(error) = thread.spawn(move || deferred.queue_all()) {
            tracing::warn!(%error, "a copy is waited for where it is queued");
            self.deferred.queue_all();
        }
    }
}

impl Deferred {
    /// Queues all operations. If one fails, so do the ones after it.
    fn queue_all(&self) {
        let Some(mut queue) = lock(&self.state).queue.take() else {
            unreachable!("it was put there for this thread")
        };
        loop {
            let mut state = lock(&self.state);
            let Some(operation) = state.operations.pop_front() else {
                state.queue = Some(queue);
                state.has_thread = false;
                self.ended.notify_all();
                return;
            };
            drop(state);
            let mut result = None;
            catch_panic(|| {
                if operation.is_copy {
                    queue.wait_for_callers();
                }
                result = Some((operation.run)(&mut queue));
            });
            match result {
                Some(Ok(())) => {}
                Some(Err(error)) => queue.fail(Fault::from(&error)),
                None => queue.fail(PANICKED.into()),
            }
        }
    }
}

impl Queue for DeferringQueue {
    fn alloc(&mut self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        // Zeros are copied.
        if let Some(queue) = self.direct()
            && !queue.is_behind_callers()
        {
            return queue.alloc(bytes, fill);
        }
        self.device.memory.alloc(bytes, fill)
    }

    unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.device.check_range(to, len)?;
        let from = HostMemory(from.cast_mut());
        self.copy(move |queue| {
            let from = from;
            // SAFETY: the caller keeps the memory until it has waited for the copy, which this
            // thread must have queued by then.
            unsafe { queue.copy_to_device(to, from.0, len) }
        })
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.device.check_range(from, len)?;
        let to = HostMemory(to);
        self.copy(move |queue| {
            let to = to;
            // SAFETY: the caller keeps the memory until it has waited for the copy, which this
            // thread must have queued by then.
            unsafe { queue.copy_from_device(to.0, from, len) }
        })
    }

    fn copy_on_device(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.device.check_range(to, len)?;
        self.device.check_range(from, len)?;
        self.copy(move |queue| queue.copy_on_device(to, from, len))
    }

    fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError> {
        check_word(to)?;
        self.device.check_range(to, 4)?;
        self.copy(move |queue| queue.store_word(to, word))
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        if let Some(queue) = self.direct() {
            // SAFETY: the caller of `Queue::launch` vouches for the kernel and its parameters.
            return unsafe { queue.launch(module, kernel, grid, params, context) };
        }
        launch::check(&self.device, kernel, grid, &context)?;
        let ended = Arc::clone(&context.ended);
        let (promise, launch) = promise(move |reason| {
            ended();
            Arc::new(NotStarted(reason)) as Arc<dyn Running>
        });
        let (module, params) = (Arc::clone(module), params.clone());
        self.defer(false, move |queue| {
            // SAFETY: the caller's promises about the kernel hold until it has ended, which
            // includes this thread's queueing it.
            let started = unsafe { queue.launch(&module, kernel, grid, &params, context) };
            promise.keep(started)
        });
        Ok(Arc::new(DeferredLaunch(launch)))
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        if let Some(queue) = self.direct() {
            return queue.record_event();
        }
        let (promise, event) = promise(|reason| Arc::new(Known(Err(reason))) as Arc<dyn Event>);
        self.defer(false, move |queue| promise.keep(Ok(queue.record_event())));
        Arc::new(DeferredEvent(event))
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        let deferred = event.downcast_ref::<DeferredEvent>();
        let recorded = deferred.map_or_else(|| Some(Arc::clone(event)), |event| event.0.get());
        if let Some(queue) = self.direct()
            && let Some(event) = &recorded
        {
            queue.wait_event(event);
            return;
        }
        let later = deferred.map(|event| Arc::clone(&event.0));
        self.defer(false, move |queue| {
            let event = recorded.or_else(|| later?.wait(None));
            if let Some(event) = event {
                queue.wait_event(&event);
            }
            Ok(())
        });
    }

    fn can_wait_for(&self, event: &dyn Event) -> bool {
        event.downcast_ref::<DeferredEvent>().is_some() || CudaQueue::knows(event)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let mut state = lock(&self.deferred.state);
        while state.has_thread {
            state = wait(&self.deferred.ended, state);
        }
        drop(state);
        match self.direct() {
            Some(queue) => queue.synchronize(),
            None => unreachable!("the thread has given the queue back"),
        }
    }
}

/// A place in a queue that may still be deferred.
struct DeferredEvent(Arc<Promised<Arc<dyn Event>>>);

impl Event for DeferredEvent {
    fn check(&self) -> EventState {
        self.0
            .get()
            .map_or(EventState::Pending, |event| event.check())
    }

    fn sync(&self) -> Outcome {
        match self.0.wait(None) {
            Some(event) => event.sync(),
            None => unreachable!("a wait without an end"),
        }
    }
}

/// A kernel that may still be deferred.
struct DeferredLaunch(Arc<Promised<Arc<dyn Running>>>);

impl Running for DeferredLaunch {
    fn is_done(&self) -> bool {
        self.0.get().is_some_and(|launch| launch.is_done())
    }

    fn wait(&self, until: Option<Instant>) -> Option<Outcome> {
        self.0.wait(until)?.wait(until)
    }
}

/// A kernel that was not started.
struct NotStarted(Fault);

impl Running for NotStarted {
    fn is_done(&self) -> bool {
        true
    }

    fn wait(&self, _until: Option<Instant>) -> Option<Outcome> {
        Some(Err(self.0.clone()))
    }
}
