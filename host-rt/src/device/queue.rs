//! Queues, and what is in them.

use std::sync::Arc;
use std::time::Instant;

use super::{BlockShape, DeviceError, Global, Grid, Module};

/// What a device needs to know of a launch beyond kernel, grid and parameters.
#[derive(Clone)]
pub struct LaunchContext {
    /// What blocks are made of.
    pub block: BlockShape,
    /// The launch's key on the wires; not 0. Devices whose threads can be told have
    /// it in every request; on others requests carry 0.
    pub key: u32,
    /// Whether the kernel's image has reverse offload.
    pub calls_host: bool,
    /// Wakes the threads that serve calls; for devices that can wake the host.
    pub wake_host: Arc<dyn Fn() + Send + Sync>,
    /// To be called once when the kernel has ended, before anybody who waits for
    /// it learns so. Not if it could not be started.
    pub ended: Arc<dyn Fn() + Send + Sync>,
}

/// How far an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventState {
    /// Something before it is not done.
    Pending,
    /// It is reached: everything before it is done.
    Done,
    /// Something before it failed, which the device says this about, or was not done for
    /// something that failed before that.
    Failed(String),
}

/// A place in a queue, which is reached when everything queued before is done.
///
/// Failure travels: what fails in a queue, and what waits for an event that fails, makes
/// the events behind it fail, and what waits for those is not done. A queue that has failed
/// is as good as new once [`Queue::synchronize`] has told of it.
pub trait Event: Send + Sync {
    /// How far it is; returns at once.
    fn check(&self) -> EventState;
    /// Waits until it is reached or has failed.
    ///
    /// # Errors
    /// What [`EventState::Failed`] says.
    fn sync(&self) -> Result<(), String>;
    /// Cancels the operation that the event was recorded behind, if it has not begun and
    /// the device can: it fails then, as does what comes after it.
    fn cancel(&self) {}
    /// For the device's own use.
    fn as_any(&self) -> &dyn std::any::Any;
    /// For the device's own use.
    fn into_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync>;
}

/// A kernel under way, or on its way.
pub trait Running: Send + Sync {
    /// Whether it has ended.
    fn is_done(&self) -> bool;
    /// Waits until it has ended, well or with the device's words about its fault;
    /// `None` if it has not ended at `until`.
    fn wait(&self, until: Option<Instant>) -> Option<Result<(), String>>;
}

/// A queue: its operations happen in order; those of different queues need not.
pub trait Queue: Send {
    /// Copies `len` bytes to device memory.
    ///
    /// # Safety
    /// `from` stays readable, and unwritten, until [`synchronize`](Self::synchronize)
    /// returns, or an event that was recorded behind the copy is found done or failed.
    ///
    /// # Errors
    /// The host does not reach the range. What is refused so is not queued.
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError>;

    /// Copies `len` bytes from device memory.
    ///
    /// # Safety
    /// `to` stays writable, and untouched by others, until
    /// [`synchronize`](Self::synchronize) returns, or an event that was recorded behind the
    /// copy is found done or failed. The bytes are there then.
    ///
    /// # Errors
    /// The host does not reach the range. What is refused so is not queued.
    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<(), DeviceError>;

    /// Copies `len` bytes from device memory to device memory; by itself through the
    /// host. What ranges that overlap then hold is unspecified.
    ///
    /// # Errors
    /// The host does not reach one of the ranges.
    fn copy_on_device(&mut self, to: u64, from: u64, len: usize) -> Result<(), DeviceError> {
        let mut bytes = vec![0; len];
        // SAFETY: `bytes` is left alone until the copy has been waited for.
        unsafe { self.copy_from_device(bytes.as_mut_ptr(), from, len)? };
        self.synchronize()?;
        // SAFETY: as above.
        unsafe { self.copy_to_device(to, bytes.as_ptr(), len)? };
        self.synchronize()
    }

    /// Stores a `u32` in device memory after everything queued so far, in one piece
    /// and with release at system scope: a device thread that acquires it sees what
    /// was copied before.
    ///
    /// # Errors
    /// The host does not reach the word, or it is misaligned.
    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError>;

    /// Starts a kernel of `module` when the queue gets there.
    ///
    /// # Safety
    /// The parameters are what the kernel's code expects, and the device memory
    /// that they name stays allocated until the kernel has ended. Its frames can be
    /// abandoned where it traps.
    ///
    /// # Errors
    /// The device cannot run the grid.
    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError>;

    /// Marks the place after everything queued so far, and after all events that the queue
    /// waits for.
    fn record_event(&mut self) -> Arc<dyn Event>;

    /// Makes what is queued from now on wait for `event`, which may be another queue's.
    /// Returns at once, unless `event` is one that the device
    /// [cannot wait for](Self::can_wait_for): that is waited for here.
    fn wait_event(&mut self, event: &Arc<dyn Event>);

    /// Whether the device waits for `event` by itself: it is one of a device of the same
    /// kind.
    fn can_wait_for(&self, event: &dyn Event) -> bool;

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// Some of it failed. What is queued from now on does not fail for that.
    fn synchronize(&mut self) -> Result<(), DeviceError>;
}
