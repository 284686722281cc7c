//! Queues and launches of `emu`.

use std::sync::Arc;
use std::time::Instant;

use ptx_emu::{LaunchError, Running as Kernel};

use super::EmuDevice;
use super::module::EmuModule;
use crate::device::at_once::{self, After};
use crate::device::{Event, Global, Grid, LaunchContext, Module, Queue, Running};
use crate::error::DeviceError;

/// A queue. Operations happen at once, after waiting for the launches before them.
pub(super) struct EmuQueue {
    device: Arc<EmuDevice>,
    after: After,
}

impl EmuQueue {
    pub(super) fn new(device: Arc<EmuDevice>) -> Self {
        let after = After::default();
        Self { device, after }
    }
}

impl Queue for EmuQueue {
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.after.catch_up();
        if len > 0 {
            let place = self.device.reach(to, len)?;
            // SAFETY: the caller vouches for the host side. The device side was just found,
            // its addresses last as long as the device, and threads use it with atomics.
            unsafe { at_once::write(place, from, len) };
            self.device.machine.host_wrote(to, len as u64);
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
            let place = self.device.reach(from, len)?;
            // SAFETY: as above.
            unsafe { at_once::read(to, place, len) };
            self.device.machine.host_read(from, len as u64);
        }
        Ok(())
    }

    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError> {
        self.after.catch_up();
        let place = self.device.reach(to, 4)?;
        // SAFETY: as above.
        unsafe { at_once::store_word(place, to, word) }?;
        self.device.machine.host_wrote(to, 4);
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
        self.after.catch_up();
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
            block: match context.block.lanes {
                1 => [grid.threads, 1, 1],
                lanes => [lanes, grid.threads, 1],
            },
            shared: context.block.shared_bytes,
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
        self.after.record()
    }

    fn wait_for(&mut self, event: &Arc<dyn Event>) {
        self.after.push(Arc::clone(event));
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.after.catch_up();
        Ok(())
    }
}

/// Most threads of a team.
pub(super) const MAX_THREADS: u32 = 1024;

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
