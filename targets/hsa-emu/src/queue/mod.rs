//! Queues, whose packets a thread of each processes in order.
//!
//! | state | meaning |
//! |---|---|
//! | active | packets are processed |
//! | inactive | none are, after an error or by the program's wish; kernels are stopped |
//! | closed | the queue is being destroyed, and its thread ends |
//!
//! A queue moves down this table, never up.
//!
//! | file | job |
//! |---|---|
//! | `ring` | the queue as programs and kernels see it |
//! | `processor` | the thread |
//! | `kernel` | running kernels and their completion |

mod kernel;
mod processor;
mod ring;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use emu_driver::process::lock;
use hsa_runtime_sys::*;

use self::kernel::InFlight;
pub(crate) use self::ring::Ring;
use crate::event::Events;
use crate::gpu::Gpu;
use crate::memory::Memory;
use crate::signal::{Signal, Signals, Waker};
use crate::status::{Answer, Status};

/// A program's function for errors.
pub(crate) type Callback = unsafe extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

/// State that queues of all GPUs share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) memory: Arc<Memory>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) events: Arc<Events>,
}

const ACTIVE: u8 = 0;
const INACTIVE: u8 = 1;
const CLOSED: u8 = 2;

/// A queue of a GPU.
pub(crate) struct Queue {
    shared: Shared,
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) ring: Ring,
    doorbell: Arc<Signal>,
    callback: Option<Callback>,
    data: usize,
    /// State of the queue, see the table above.
    state: AtomicU8,
    in_flight: Mutex<InFlight>,
    /// Wakes the thread.
    waker: Arc<Waker>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(crate) is_profiled: AtomicBool,
}

impl Queue {
    /// Creates a queue of `size` packets, and its thread.
    pub(crate) fn create(
        shared: Shared,
        gpu: Arc<Gpu>,
        (size, kind): (u32, hsa_queue_type32_t),
        callback: Option<Callback>,
        data: *mut c_void,
    ) -> Answer<Arc<Self>> {
        let doorbell = shared.signals.create(-1)?;
        let created =
            Self::with_doorbell(shared.clone(), gpu, (size, kind), &doorbell, callback, data);
        created.inspect_err(|_| {
            // The signal is still unused.
            let _ = shared.signals.destroy(doorbell.handle(), false);
        })
    }

    fn with_doorbell(
        shared: Shared,
        gpu: Arc<Gpu>,
        (size, kind): (u32, hsa_queue_type32_t),
        doorbell: &Arc<Signal>,
        callback: Option<Callback>,
        data: *mut c_void,
    ) -> Answer<Arc<Self>> {
        let features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
        let ring = Ring::new(&shared.memory, size, kind, features, doorbell.handle())?;
        ring.set_limits(gpu.processors, gpu.spec.waves);
        let queue = Arc::new(Self {
            shared,
            gpu,
            ring,
            doorbell: Arc::clone(doorbell),
            callback,
            data: data.expose_provenance(),
            state: AtomicU8::new(ACTIVE),
            in_flight: Mutex::default(),
            waker: Arc::default(),
            thread: Mutex::default(),
            is_profiled: AtomicBool::new(false),
        });
        let worker = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("aql".to_owned());
        let thread = thread.spawn(move || worker.process_packets());
        let thread = thread.map_err(|_| Status::OUT_OF_RESOURCES)?;
        *lock(&queue.thread) = Some(thread);
        Ok(queue)
    }

    fn state(&self) -> u8 {
        // Acquire: edge *queue state*.
        self.state.load(Ordering::Acquire)
    }

    fn is_active(&self) -> bool {
        self.state() == ACTIVE
    }

    /// Moves to a later state.
    fn leave(&self, state: u8) {
        // Release: edge *queue state*; a thread that finds the new state also finds its reason.
        self.state.fetch_max(state, Ordering::AcqRel);
        self.waker.wake();
    }

    /// Stops the processing of packets, and running kernels.
    pub(crate) fn inactivate(&self) {
        self.leave(INACTIVE);
    }

    /// Stops the queue and its kernels, and waits for their ends. A callback of its own thread does not wait.
    pub(crate) fn destroy(&self) {
        self.leave(CLOSED);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the thread of a queue panicked");
        }
        // `destroy_all` may have destroyed the signal.
        let _ = self.shared.signals.destroy(self.doorbell.handle(), false);
    }

    /// Whether a signal is its doorbell.
    pub(crate) fn has_doorbell(&self, signal: hsa_signal_t) -> bool {
        self.doorbell.handle().handle == signal.handle
    }
}
