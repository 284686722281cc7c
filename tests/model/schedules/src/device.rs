//! The device, as tasks and serving threads know it; `runtime` has one.

use std::ptr::NonNull;
use std::sync::Arc;

pub use crate::base::addr::DeviceAddr;

/// The failure of an operation in a queue.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub Arc<str>);

/// The outcome of an operation in a queue.
pub type Outcome = Result<(), Fault>;

/// An error of a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// An operation in a queue failed.
    #[error("device `{device}`: {fault}")]
    Queued {
        /// The device.
        device: String,
        /// The failure.
        fault: Fault,
    },
    /// The operating system reported an error.
    #[error("{what}: {reason}")]
    System {
        /// The attempted operation.
        what: String,
        /// The system's error.
        reason: std::io::Error,
    },
}

/// The state of an event.
#[derive(Clone, Debug)]
pub enum EventState {
    /// Something before it is not done.
    Pending,
    /// Everything before it is done.
    Done,
    /// Something before it failed.
    Failed(Fault),
}

impl PartialEq for EventState {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A position in a queue.
pub trait Event: std::any::Any + Send + Sync {
    /// The event's state; returns at once.
    fn check(&self) -> EventState;
    /// Waits until it is reached or has failed.
    ///
    /// # Errors
    /// That of [`EventState::Failed`].
    fn sync(&self) -> Outcome;
    /// Cancels the operation before the event, if it has not begun.
    fn cancel(&self) {}
}

/// Whether a queue runs a kernel. No word of the model: nobody is interrupted between this and the
/// kernel's begin.
pub type Busy = std::sync::atomic::AtomicBool;

/// A queue.
pub trait Queue: Send {
    /// Queues a kernel; returns its end.
    fn launch(&mut self, run: Arc<dyn Fn() -> Outcome + Send + Sync>) -> Arc<dyn Event>;
    /// Whether it runs a kernel.
    fn is_busy(&self) -> Arc<Busy>;
    /// Makes later operations wait.
    fn wait_event(&mut self, event: &Arc<dyn Event>);
    /// An event after the operations so far.
    fn record_event(&mut self) -> Arc<dyn Event>;
    /// Copies to the device: not modelled.
    ///
    /// # Safety
    /// None is needed.
    ///
    /// # Errors
    /// None.
    unsafe fn copy_to_device(
        &mut self,
        _: DeviceAddr,
        _: *const u8,
        _: usize,
    ) -> Result<(), DeviceError> {
        Ok(())
    }
    /// Copies from the device: not modelled.
    ///
    /// # Safety
    /// None is needed.
    ///
    /// # Errors
    /// None.
    unsafe fn copy_from_device(
        &mut self,
        _: *mut u8,
        _: DeviceAddr,
        _: usize,
    ) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// The size of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Grid;

/// The parameters of a kernel: none.
#[derive(Debug, Default)]
pub struct Params {}

/// Mapped memory.
#[derive(Debug)]
pub struct MappedMemory {
    /// Its address on the host.
    pub host: NonNull<u8>,
    /// Its address on the device.
    pub device: DeviceAddr,
}

// SAFETY: an address alone accesses nothing.
unsafe impl Send for MappedMemory {}
// SAFETY: as above.
unsafe impl Sync for MappedMemory {}
