//! Queues and launches of `emu`.

use std::sync::Arc;
use std::time::Instant;

use ptx_emu::{LaunchError, Running as Kernel};
use shared_abi::words::{Coherent, Store, SystemWords};

use super::EmuDevice;
use super::module::EmuModule;
use crate::device::{Event, Global, Grid, LaunchContext, Module, Queue, Running};
use crate::error::DeviceError;

/// A queue. Operations happen at once, after waiting for the launches before them.
pub(super) struct EmuQueue {
    device: Arc<EmuDevice>,
    /// What the next operation has to wait for.
    after: Vec<Arc<dyn Event>>,
}

impl EmuQueue {
    pub(super) fn new(device: Arc<EmuDevice>) -> Self {
        Self {
            device,
            after: Vec::new(),
        }
    }

    fn catch_up(&mut self) {
        for event in self.after.drain(..) {
            event.wait();
        }
    }
}

impl Queue for EmuQueue {
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.catch_up();
        let place = self.device.reach(to, len)?;
        // SAFETY: the caller vouches for the host side. The device side was just found,
        // and its addresses last as long as the device. Device threads may use it
        // meanwhile, which atomic accesses here make a matter of theirs.
        unsafe { words_at(place).write_bytes(offset_at(place), from, len) };
        Ok(())
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.catch_up();
        let place = self.device.reach(from, len)?;
        // SAFETY: as above.
        unsafe { words_at(place).read_bytes(offset_at(place), to, len) };
        Ok(())
    }

    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError> {
        self.catch_up();
        let place = self.device.reach(to, 4)?;
        if !to.is_multiple_of(4) {
            let what = "not aligned for a word";
            return Err(DeviceError::Unreachable {
                address: to,
                len: 4,
                what,
            });
        }
        // Edge `R2`, completing end, for callers whose word is in device memory.
        // SAFETY: as above, and aligned.
        unsafe { words_at(place) }.store32(offset_at(place), word, Store::Release);
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
        self.catch_up();
        let bad_grid = |reason: String| DeviceError::BadGrid {
            teams: grid.teams,
            threads: grid.threads,
            reason,
        };
        if grid.teams == 0 || grid.threads == 0 {
            return Err(bad_grid("both must be at least 1".to_owned()));
        }
        let Some(module) = module.as_any().downcast_ref::<EmuModule>() else {
            unreachable!("a module of another device")
        };
        let Some(kernel) = module.loaded.kernel_at(kernel.address) else {
            return Err(bad_grid(
                "the function is no kernel of the image".to_owned(),
            ));
        };
        let shape = ptx_emu::Grid {
            grid: [grid.teams, 1, 1],
            block: [grid.threads, 1, 1],
            shared: 0,
        };
        let ended = Arc::clone(&context.ended);
        let started = self.device.machine.launch(
            &module.loaded,
            kernel,
            shape,
            params,
            Box::new(move || ended()),
        );
        let kernel = started.map_err(|error| match error {
            LaunchError::Bounds(_) if grid.threads > MAX_THREADS => {
                bad_grid(format!("a team has at most {MAX_THREADS} threads"))
            }
            error => bad_grid(error.to_string()),
        })?;
        let launch = Arc::new(EmuLaunch {
            kernel,
            _device: Arc::clone(&self.device),
        });
        self.after.push(Arc::clone(&launch) as Arc<dyn Event>);
        Ok(launch)
    }

    fn record(&mut self) -> Arc<dyn Event> {
        self.after.retain(|event| !event.is_done());
        Arc::new(AllOf(self.after.clone()))
    }

    fn wait_for(&mut self, event: &Arc<dyn Event>) {
        self.after.push(Arc::clone(event));
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.catch_up();
        Ok(())
    }
}

/// Most threads of a team.
const MAX_THREADS: u32 = 1024;

/// The words around an address.
///
/// # Safety
/// As for [`Coherent::new`], for the offsets from [`offset_at`] the same address.
unsafe fn words_at(place: *mut u8) -> Coherent {
    // SAFETY: passed on; aligned to 8 bytes.
    unsafe { Coherent::new(place.map_addr(|address| address & !7)) }
}

/// Offset of an address in the words around it.
fn offset_at(place: *mut u8) -> usize {
    place.addr() & 7
}

/// A place in a queue.
struct AllOf(Vec<Arc<dyn Event>>);

impl Event for AllOf {
    fn is_done(&self) -> bool {
        self.0.iter().all(|event| event.is_done())
    }

    fn wait(&self) {
        for event in &self.0 {
            event.wait();
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// A kernel under way.
struct EmuLaunch {
    kernel: Kernel,
    /// Its multiprocessors end with it.
    _device: Arc<EmuDevice>,
}

impl Event for EmuLaunch {
    fn is_done(&self) -> bool {
        self.kernel.is_over()
    }

    fn wait(&self) {
        let _ = self.kernel.wait(None);
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Running for EmuLaunch {
    fn is_done(&self) -> bool {
        self.kernel.is_over()
    }

    fn wait(&self, until: Option<Instant>) -> Option<Result<(), String>> {
        let result = self.kernel.wait(until)?;
        Some(result.map_err(|fault| fault.to_string()))
    }
}
