//! A runtime with a device whose queues are threads, and kernels that are closures.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::base::random::chance;
use crate::base::sync::{AtomicBool, Condvar, Mutex, Ordering, lock, spawn, wait, yield_now};
use crate::device::{
    Busy, DeviceAddr, DeviceError, Event, EventState, Fault, Grid, Outcome, Params, Queue,
};
use crate::serve::LaunchError;

/// An error of a runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// See [`DeviceError`].
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A runtime. Clones are the same.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    name: String,
    deadline: Option<Duration>,
    can_cancel: bool,
}

impl Runtime {
    /// A runtime on a device of this name: its kind, up to a colon, and its number. The device can
    /// cancel queued operations or not.
    #[must_use]
    pub fn open(name: &str, has_deadline: bool, can_cancel: bool) -> Self {
        Self(Arc::new(Inner {
            name: name.to_owned(),
            deadline: has_deadline.then_some(Duration::ZERO),
            can_cancel,
        }))
    }

    /// A kernel that runs `body`.
    pub fn kernel(&self, name: &str, body: impl Fn() -> Outcome + Send + Sync + 'static) -> Kernel {
        Kernel {
            runtime: self.clone(),
            declaration: Declaration {
                name: name.to_owned(),
            },
            body: Arc::new(body),
        }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn device_name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn kind(&self) -> &str {
        let name = self.device_name();
        name.split_once(':').map_or(name, |(kind, _)| kind)
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.0.deadline
    }

    pub(crate) fn queue(&self) -> Result<Box<dyn Queue>, RuntimeError> {
        Ok(Box::new(ThreadQueue::new(self.0.can_cancel)))
    }
}

/// A kernel's declaration.
pub(crate) struct Declaration {
    pub(crate) name: String,
}

/// A kernel.
pub struct Kernel {
    runtime: Runtime,
    declaration: Declaration,
    body: Arc<dyn Fn() -> Outcome + Send + Sync>,
}

impl Kernel {
    pub(crate) fn runtime(&self) -> Runtime {
        self.runtime.clone()
    }

    pub(crate) fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    pub(crate) unsafe fn start_in(
        &self,
        queue: &mut dyn Queue,
        _wire: Option<()>,
        _: Grid,
        _: &Params,
    ) -> Result<Launch, RuntimeError> {
        let has_begun = Arc::<AtomicBool>::default();
        let (body, begun) = (Arc::clone(&self.body), Arc::clone(&has_begun));
        let is_busy = queue.is_busy();
        let busy = Arc::clone(&is_busy);
        let run = move || {
            // Release: a late kernel has passed the checks at its begin.
            begun.store(true, Ordering::Release);
            // Relaxed, also below: no word of the model.
            busy.store(true, Ordering::Relaxed);
            let outcome = body();
            busy.store(false, Ordering::Relaxed);
            outcome
        };
        let end = queue.launch(Arc::new(run));
        Ok(Launch {
            end,
            has_begun,
            is_busy,
        })
    }
}

/// A launched kernel.
pub struct Launch {
    end: Arc<dyn Event>,
    has_begun: Arc<AtomicBool>,
    /// Whether its queue runs a kernel.
    is_busy: Arc<Busy>,
}

impl Launch {
    pub(crate) fn restart_time(&mut self) {}

    /// A kernel may pass its deadline that has begun, or that another one keeps from beginning.
    pub(crate) fn wait_until_deadline(&self) -> Result<(), LaunchError> {
        let is_late = chance(2);
        while is_late
            && self.end.check() == EventState::Pending
            && !self.has_begun.load(Ordering::Acquire)
            && !self.is_busy.load(Ordering::Relaxed)
        {
            yield_now();
        }
        if is_late && self.end.check() == EventState::Pending {
            return Err(LaunchError::Deadline {});
        }
        self.wait()
    }

    pub(crate) fn wait(&self) -> Result<(), LaunchError> {
        self.end.sync().map_err(LaunchError::Kernel)
    }
}

/// A parameter of a kernel.
pub trait KernelArg {
    /// Adds it.
    fn push_to(&self, params: &mut Params);
}

macro_rules! values {
    ($($type:ty)*) => {$(
        impl KernelArg for $type {
            fn push_to(&self, _: &mut Params) {}
        }
    )*};
}

values!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 DeviceBuffer);

/// Device memory: models have none.
pub struct DeviceBuffer {
    runtime: Runtime,
}

impl DeviceBuffer {
    pub(crate) fn runtime(&self) -> Runtime {
        self.runtime.clone()
    }

    pub(crate) fn address(&self) -> DeviceAddr {
        DeviceAddr(0)
    }

    pub(crate) fn range(&self, at: u64, _: u64) -> Result<DeviceAddr, DeviceError> {
        Ok(DeviceAddr(at))
    }
}

/// An event that a queue's thread sets.
#[derive(Default)]
struct ThreadEvent {
    outcome: Mutex<Option<Outcome>>,
    reached: Condvar,
    can_cancel: bool,
    /// Whether the operation before it has begun, or will not begin.
    is_decided: Arc<AtomicBool>,
}

impl ThreadEvent {
    /// The first outcome is the last.
    fn set(&self, outcome: Outcome) {
        lock(&self.outcome).get_or_insert(outcome);
        self.reached.notify_all();
    }
}

impl Event for ThreadEvent {
    fn check(&self) -> EventState {
        match &*lock(&self.outcome) {
            None => EventState::Pending,
            Some(Ok(())) => EventState::Done,
            Some(Err(fault)) => EventState::Failed(fault.clone()),
        }
    }

    fn sync(&self) -> Outcome {
        let mut outcome = lock(&self.outcome);
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            outcome = wait(&self.reached, outcome);
        }
    }

    fn cancel(&self) {
        if self.can_cancel && !self.is_decided.swap(true, Ordering::AcqRel) {
            self.set(Err(Fault("cancelled".into())));
        }
    }
}

enum Op {
    Kernel {
        run: Arc<dyn Fn() -> Outcome + Send + Sync>,
        end: Arc<ThreadEvent>,
        is_decided: Arc<AtomicBool>,
    },
    Wait(Arc<dyn Event>),
    Record(Arc<ThreadEvent>),
    End,
}

/// A queue whose thread performs its operations. After a failed one, later ones fail. Dropping the queue leaves the
/// operations to the thread.
struct ThreadQueue {
    ops: Arc<(Mutex<VecDeque<Op>>, Condvar)>,
    can_cancel: bool,
    /// Whether a kernel runs.
    is_busy: Arc<Busy>,
    /// Of the operations since the last event.
    is_decided: Arc<AtomicBool>,
}

impl ThreadQueue {
    fn new(can_cancel: bool) -> Self {
        let ops = Arc::<(Mutex<VecDeque<Op>>, Condvar)>::default();
        let theirs = Arc::clone(&ops);
        spawn(move || {
            let mut outcome = Ok(());
            loop {
                let mut ops = lock(&theirs.0);
                let op = loop {
                    match ops.pop_front() {
                        Some(op) => break op,
                        None => ops = wait(&theirs.1, ops),
                    }
                };
                drop(ops);
                match op {
                    Op::Kernel {
                        run,
                        end,
                        is_decided,
                    } => {
                        if outcome.is_ok() {
                            outcome = match is_decided.swap(true, Ordering::AcqRel) {
                                true => Err(Fault("cancelled".into())),
                                false => run(),
                            };
                        }
                        end.set(outcome.clone());
                    }
                    Op::Wait(event) => {
                        let before = event.sync();
                        outcome = outcome.and(before);
                    }
                    Op::Record(event) => event.set(outcome.clone()),
                    Op::End => return,
                }
            }
        });
        Self {
            ops,
            can_cancel,
            is_busy: Arc::default(),
            is_decided: Arc::default(),
        }
    }

    fn push(&self, op: Op) {
        lock(&self.ops.0).push_back(op);
        self.ops.1.notify_one();
    }
}

impl Drop for ThreadQueue {
    fn drop(&mut self) {
        self.push(Op::End);
    }
}

impl Queue for ThreadQueue {
    fn launch(&mut self, run: Arc<dyn Fn() -> Outcome + Send + Sync>) -> Arc<dyn Event> {
        let end = Arc::<ThreadEvent>::default();
        self.push(Op::Kernel {
            run,
            end: Arc::clone(&end),
            is_decided: Arc::clone(&self.is_decided),
        });
        end
    }

    fn is_busy(&self) -> Arc<Busy> {
        Arc::clone(&self.is_busy)
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        self.push(Op::Wait(Arc::clone(event)));
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        let event = Arc::new(ThreadEvent {
            can_cancel: self.can_cancel,
            is_decided: std::mem::take(&mut self.is_decided),
            ..ThreadEvent::default()
        });
        self.push(Op::Record(Arc::clone(&event)));
        event
    }
}
