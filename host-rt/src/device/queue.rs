//! Queues, events and running kernels.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use super::{BlockShape, DeviceAddr, DeviceError, Fill, Global, Grid, Module, Params};
use super::{Fault, Outcome};

/// Properties of a launch beyond kernel, grid and parameters.
#[derive(Clone)]
pub struct LaunchContext {
    /// The shape of blocks.
    pub block: BlockShape,
    /// The launch's key on the wires; not 0. Devices that can identify a thread's launch send it
    /// with every request; others send 0.
    pub key: u32,
    /// Whether the kernel's image has reverse offload.
    pub calls_host: bool,
    /// Wakes the threads that serve calls; for devices that can wake the host.
    pub wake_host: Arc<dyn Fn() + Send + Sync>,
    /// Called once when the kernel has ended, before a waiter learns of that. Not called if the
    /// kernel could not be started.
    pub ended: Arc<dyn Fn() + Send + Sync>,
}

/// The state of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventState {
    /// Something before it is not done.
    Pending,
    /// Everything before it is done.
    Done,
    /// Something before it failed.
    Failed(Fault),
}

impl From<Option<Outcome>> for EventState {
    /// `None` is pending.
    fn from(outcome: Option<Outcome>) -> Self {
        match outcome {
            None => Self::Pending,
            Some(Ok(())) => Self::Done,
            Some(Err(fault)) => Self::Failed(fault),
        }
    }
}

/// A position in a queue, which is reached when everything queued before is done.
///
/// Failures propagate: a failed operation, and a wait for a failed event, make later events of the
/// queue fail, and operations that wait for those are not run. A failed queue is usable again after
/// [`Queue::synchronize`] has reported the failure.
pub trait Event: Any + Send + Sync {
    /// The event's state; returns at once.
    fn check(&self) -> EventState;
    /// Waits until it is reached or has failed.
    ///
    /// # Errors
    /// That of [`EventState::Failed`].
    fn sync(&self) -> Outcome;
    /// Cancels the operation before the event, if it has not begun and the device supports that: it
    /// then has failed when this returns. Operations that depend on it fail, too.
    fn cancel(&self) {}
}

impl dyn Event {
    /// The event as that of its device; `None` if it is another device's.
    pub(super) fn downcast_ref<T: Event>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A kernel that is running or queued.
pub trait Running: Send + Sync {
    /// Whether it has ended.
    fn is_done(&self) -> bool;
    /// Waits until it has ended. `None` if it has not ended at `until`.
    fn wait(&self, until: Option<Instant>) -> Option<Outcome>;
}

/// A queue. Its operations run in order; those of different queues run in any order.
pub trait Queue: Send {
    /// Allocates device memory like [`Device::alloc`](super::Device::alloc), for operations queued
    /// here from now on and what follows them: it is not waited for. To be freed by
    /// [`Device::free`](super::Device::free), once these operations have been waited for.
    ///
    /// # Errors
    /// There is not enough memory.
    fn alloc(&mut self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError>;

    /// Copies `len` bytes to device memory.
    ///
    /// # Safety
    /// `from` stays readable, and unwritten, until [`synchronize`](Self::synchronize) returns, an
    /// event recorded after the copy is found done or failed, or a kernel launched after it has
    /// ended without a fault.
    ///
    /// # Errors
    /// The host cannot reach the range. Such a copy is not queued.
    unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError>;

    /// Copies `len` bytes from device memory.
    ///
    /// # Safety
    /// `to` stays writable, and is not accessed by others, until [`synchronize`](Self::synchronize)
    /// returns, or an event recorded after the copy is found done or failed. Then it has the bytes.
    ///
    /// # Errors
    /// The host cannot reach the range. Such a copy is not queued.
    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError>;

    /// Copies `len` bytes from device memory to device memory; the default implementation goes
    /// through the host. Overlapping ranges have unspecified contents afterwards.
    ///
    /// # Errors
    /// The host cannot reach one of the ranges.
    fn copy_on_device(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        let mut bytes = vec![0; len];
        // SAFETY: `bytes` is left alone until the copy has been waited for.
        unsafe { self.copy_from_device(bytes.as_mut_ptr(), from, len)? };
        self.synchronize()?;
        // SAFETY: `bytes` lives until the copy has been waited for.
        unsafe { self.copy_to_device(to, bytes.as_ptr(), len)? };
        self.synchronize()
    }

    /// Copies like [`copy_on_device`](Self::copy_on_device), perhaps more slowly, for a kernel that waits for it. See
    /// [`Device::copies_beside_kernels`](super::Device::copies_beside_kernels).
    ///
    /// # Errors
    /// The host cannot reach one of the ranges.
    fn copy_beside_kernels(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.copy_on_device(to, from, len)
    }

    /// Stores a `u32` in device memory after everything queued so far, as one access and with
    /// release at system scope: a device thread that acquires it sees earlier copies.
    ///
    /// # Errors
    /// The host cannot reach the word, or it is misaligned.
    fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError>;

    /// Starts a kernel of `module` when the queue gets there.
    ///
    /// # Safety
    /// The parameters match the kernel's code, and the device memory that they name stays allocated
    /// until the kernel has ended. Its frames can be abandoned if it traps.
    ///
    /// # Errors
    /// The device cannot run the grid.
    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError>;

    /// Marks the place after everything queued so far, and after all events that the queue
    /// waits for.
    fn record_event(&mut self) -> Arc<dyn Event>;

    /// Makes operations queued from now on wait for `event`, which may be another queue's. Returns
    /// at once, unless the device [cannot wait for](Self::can_wait_for) `event`: then this waits
    /// for it.
    fn wait_event(&mut self, event: &Arc<dyn Event>);

    /// Whether the device waits for `event` by itself, because it belongs to a device of the same
    /// kind.
    fn can_wait_for(&self, event: &dyn Event) -> bool;

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// An operation failed. Operations queued from now on are not affected.
    fn synchronize(&mut self) -> Result<(), DeviceError>;
}
