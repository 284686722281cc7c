//! Queues of devices that run in this process.

use std::any::Any;
use std::sync::Arc;

use shared_abi::words::{Store, SystemWords};

use super::{InProcess, MAX_THREADS, QueueOp, Work};
use crate::device::bounds::check_word;
use crate::device::{
    DeviceAddr, DeviceError, Event, Fill, Global, Grid, LaunchContext, Module, Outcome, Params,
    Queue, Running,
};
use device_arena::bytes::{copy_from_shared, copy_to_shared, words_at};

/// A queue. Copies happen at once, on the calling thread, unless an earlier operation is pending.
pub(in crate::device) struct InProcessQueue<D> {
    device: Arc<D>,
    /// The last operation, if it is not known to be done.
    last: Option<Arc<QueueOp>>,
    /// Events that the next operation waits for.
    events: Vec<Arc<QueueOp>>,
}

impl<D: InProcess> InProcessQueue<D> {
    pub(in crate::device) fn new(device: Arc<D>) -> Self {
        Self {
            device,
            last: None,
            events: Vec::new(),
        }
    }

    /// The dependencies of the next operation, including failed ones.
    fn before(&mut self) -> impl Iterator<Item = Arc<QueueOp>> {
        let events = std::mem::take(&mut self.events);
        self.last.take().into_iter().chain(events)
    }

    /// Queues an operation.
    fn push(&mut self, work: Option<Box<dyn Work>>) -> Arc<QueueOp> {
        let op = QueueOp::after(work, self.before());
        self.last = Some(Arc::clone(&op));
        op
    }

    /// Copies now, or later if an operation is pending.
    fn copy(&mut self, copy: Copy) -> Result<(), DeviceError> {
        let is_done = |op: &Arc<QueueOp>| matches!(op.outcome(), Some(Ok(())));
        self.last.take_if(|last| is_done(last));
        self.events.retain(|event| !is_done(event));
        if self.last.is_none() && self.events.is_empty() {
            return copy.perform(&*self.device);
        }
        copy.check(&*self.device)?;
        let device = Arc::clone(&self.device);
        let op = self.push(Some(Box::new(Later { copy, device })));
        match op.outcome() {
            // An earlier operation failed: reported at once, without a wait.
            Some(Err(reason)) => Err(DeviceError::DependencyFailed { reason }),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

impl<D: InProcess> Queue for InProcessQueue<D> {
    fn alloc(&mut self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        self.device.alloc(bytes, fill)
    }

    unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.copy(Copy::To { to, from, len })
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.copy(Copy::From { to, from, len })
    }

    fn copy_on_device(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.copy(Copy::Within { to, from, len })
    }

    fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError> {
        check_word(to)?;
        self.copy(Copy::Word { to, word })
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        grid.threads_of_team(context.block.lanes)?;
        if grid.threads > MAX_THREADS {
            let reason = format!("a team has at most {MAX_THREADS} threads");
            return Err(grid.bad(reason));
        }
        // SAFETY: the caller of `Queue::launch` vouches for the kernel and its parameters.
        let work = unsafe { self.device.prepare(module, kernel, grid, params, context)? };
        Ok(self.push(Some(work)))
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        match &self.last {
            Some(last) if self.events.is_empty() => Arc::clone(last) as Arc<dyn Event>,
            _ => self.push(None),
        }
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        let op = Arc::clone(event) as Arc<dyn Any + Send + Sync>;
        self.events.push(op.downcast().unwrap_or_else(|_| {
            let waited = event.sync();
            QueueOp::over(waited)
        }));
    }

    fn can_wait_for(&self, event: &dyn Event) -> bool {
        event.downcast_ref::<QueueOp>().is_some()
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let mut all = Ok(());
        for op in self.before() {
            all = all.and(op.sync());
        }
        all.map_err(|reason| DeviceError::DependencyFailed { reason })
    }
}

/// A copy, or a store.
enum Copy {
    To {
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    },
    From {
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    },
    Within {
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    },
    Word {
        to: DeviceAddr,
        word: u32,
    },
}

// SAFETY: the pointers are memory that the caller of `Queue` leaves to the copy until it has waited
// for it, on any thread.
unsafe impl Send for Copy {}

impl Copy {
    /// Rejects ranges that copies cannot reach.
    fn check(&self, device: &impl InProcess) -> Result<(), DeviceError> {
        let check = |address, len, write| match len {
            0 => Ok(()),
            len => device.resolve(address, len, write).map(drop),
        };
        match *self {
            Self::To { to, len, .. } => check(to, len, true),
            Self::From { from, len, .. } => check(from, len, false),
            Self::Within { to, from, len } => {
                check(from, len, false)?;
                check(to, len, true)
            }
            Self::Word { to, .. } => check(to, 4, true),
        }
    }

    fn perform(self, device: &impl InProcess) -> Result<(), DeviceError> {
        match self {
            Self::To { len: 0, .. } | Self::From { len: 0, .. } => {}
            Self::To { to, from, len } => {
                let (place, _held) = device.resolve(to, len, true)?;
                // SAFETY: the caller of `Queue` vouches for the host side, `InProcess` for the
                // other one. Device threads may access it meanwhile; atomic accesses here make that
                // no data race of ours.
                unsafe { copy_to_shared(place, from, len) };
                device.wrote(to, len);
            }
            Self::From { to, from, len } => {
                let (place, _held) = device.resolve(from, len, false)?;
                // SAFETY: the caller of `Queue` vouches for the host side, `InProcess` for the
                // other one, which device threads may access meanwhile: the accesses here are
                // atomic.
                unsafe { copy_from_shared(to, place, len) };
                device.has_read(from, len);
            }
            Self::Within { to, from, len } => {
                let mut bytes = vec![0; len];
                let between = bytes.as_mut_ptr();
                let copy = Self::From {
                    to: between,
                    from,
                    len,
                };
                copy.perform(device)?;
                let from = between.cast_const();
                Self::To { to, from, len }.perform(device)?;
            }
            Self::Word { to, word } => {
                let (place, _held) = device.resolve(to, 4, true)?;
                // SAFETY: `InProcess` vouches for the word, whose alignment was checked when it was
                // queued.
                let (words, offset) = unsafe { words_at(place) };
                // Edge `R2`, completing end, for callers whose word is in device memory.
                words.store32(offset, word, Store::Release);
                device.wrote(to, 4);
            }
        }
        Ok(())
    }
}

/// A copy that waits for its turn.
struct Later<D> {
    copy: Copy,
    device: Arc<D>,
}

impl<D: InProcess> Work for Later<D> {
    fn begin(self: Box<Self>, _op: &Arc<QueueOp>) -> Option<Outcome> {
        let copied = self.copy.perform(&*self.device);
        Some(copied.map_err(|error| error.to_string().into()))
    }
}
