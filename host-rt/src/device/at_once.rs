//! Queues whose operations happen at once, on memory that the host reaches itself:
//! those of devices that are this process.

use std::sync::Arc;

use shared_abi::words::{Store, SystemWords};

use super::bytes::{copy_from_shared, copy_to_shared, words_at};
use super::{Event, EventState, Global, Grid, LaunchContext, Module, Queue, Running};
use crate::error::DeviceError;

/// Most threads of a team.
pub(super) const MAX_THREADS: u32 = 1024;

/// A device that is this process.
///
/// # Safety
/// What [`reach`](Self::reach) returns is there, all of it, as long as the device and what
/// comes with it. Others use it with atomic accesses, or are kernels, whose matter it is.
pub(super) unsafe trait Near: Send + Sync + 'static {
    /// Keeps a range in place.
    type Held;
    type Launch: Event + Running;

    /// Where the range that the device sees at `address` is, which is not empty.
    ///
    /// # Errors
    /// It is not for copies.
    fn reach(
        &self,
        address: u64,
        len: usize,
        write: bool,
    ) -> Result<(*mut u8, Self::Held), DeviceError>;

    /// A copy or a store has changed a range.
    fn wrote(&self, _address: u64, _len: usize) {}

    /// A copy has read a range.
    fn has_read(&self, _address: u64, _len: usize) {}

    /// Starts a kernel, which begins after `after`: by waiting here, or on its own.
    ///
    /// # Safety
    /// As for [`Queue::launch`].
    ///
    /// # Errors
    /// The device cannot run the grid, which is not empty.
    unsafe fn launch(
        self: &Arc<Self>,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
        after: &mut After,
    ) -> Result<Arc<Self::Launch>, DeviceError>;
}

/// A queue of such a device. Copies happen at once, after waiting for the launches before
/// them.
pub(super) struct AtOnce<D> {
    device: Arc<D>,
    after: After,
}

impl<D: Near> AtOnce<D> {
    pub(super) fn new(device: Arc<D>) -> Self {
        let after = After::default();
        Self { device, after }
    }
}

impl<D: Near> Queue for AtOnce<D> {
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.after.catch_up();
        if len > 0 {
            let (place, _held) = self.device.reach(to, len, true)?;
            // SAFETY: the caller vouches for the host side, `Near` for the other one.
            // Device threads may use it meanwhile, which atomic accesses here make a
            // matter of theirs.
            unsafe { copy_to_shared(place, from, len) };
            self.device.wrote(to, len);
        }
        Ok(())
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.after.catch_up();
        if len > 0 {
            let (place, _held) = self.device.reach(from, len, false)?;
            // SAFETY: as above.
            unsafe { copy_from_shared(to, place, len) };
            self.device.has_read(from, len);
        }
        Ok(())
    }

    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError> {
        self.after.catch_up();
        let (place, _held) = self.device.reach(to, 4, true)?;
        if !to.is_multiple_of(4) {
            return Err(DeviceError::Unreachable {
                address: to,
                len: 4,
                what: "not aligned for a word",
            });
        }
        // SAFETY: as above; aligned.
        let (words, offset) = unsafe { words_at(place) };
        // Edge `R2`, completing end, for callers whose word is in device memory.
        words.store32(offset, word, Store::Release);
        self.device.wrote(to, 4);
        Ok(())
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        if grid.teams == 0 || grid.threads == 0 {
            return Err(bad_grid(grid, "both must be at least 1"));
        }
        if grid.threads > MAX_THREADS {
            let reason = format!("a team has at most {MAX_THREADS} threads");
            return Err(bad_grid(grid, reason));
        }
        let after = &mut self.after;
        // SAFETY: passed on.
        let launch = unsafe {
            self.device
                .launch(module, kernel, grid, params, context, after)
        }?;
        self.after.push(Arc::clone(&launch) as Arc<dyn Event>);
        Ok(launch)
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        let after = &mut self.after.0;
        after.retain(|event| event.check() != EventState::Done);
        Arc::new(AllOf(after.clone()))
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        self.after.push(Arc::clone(event));
    }

    fn can_wait_for(&self, _event: &dyn Event) -> bool {
        true
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.after.catch_up();
        Ok(())
    }
}

/// Why a device does not run a grid.
pub(super) fn bad_grid(grid: Grid, reason: impl Into<String>) -> DeviceError {
    DeviceError::BadGrid {
        teams: grid.teams,
        threads: grid.threads,
        reason: reason.into(),
    }
}

/// What the next operation of a queue has to wait for.
#[derive(Default)]
pub(super) struct After(Vec<Arc<dyn Event>>);

impl After {
    /// Waits for all of it.
    pub(super) fn catch_up(&mut self) {
        for event in self.0.drain(..) {
            let _ = event.sync();
        }
    }

    /// Leaves it to somebody else to wait.
    pub(super) fn take(&mut self) -> Vec<Arc<dyn Event>> {
        std::mem::take(&mut self.0)
    }

    fn push(&mut self, event: Arc<dyn Event>) {
        self.0.push(event);
    }
}

/// A place in a queue.
struct AllOf(Vec<Arc<dyn Event>>);

impl Event for AllOf {
    fn check(&self) -> EventState {
        let mut states = self.0.iter().map(|event| event.check());
        let first = states.find(|state| *state != EventState::Done);
        first.unwrap_or(EventState::Done)
    }

    fn sync(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|event| event.sync())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
