//! What queues of `emu` do: copies and launches.

use std::sync::Arc;
use std::time::Instant;

use ptx_emu::Running as Kernel;

use super::EmuDevice;
use super::module::EmuModule;
use crate::device::at_once::{After, Near, bad_grid};
use crate::device::{Event, EventState, Global, Grid, LaunchContext, Module, Running};
use crate::error::DeviceError;

// SAFETY: device memory lives as long as the device, whose threads use it with atomic accesses.
unsafe impl Near for EmuDevice {
    type Held = ();
    type Launch = EmuLaunch;

    /// As on hardware, copies are for device memory alone.
    fn reach(&self, address: u64, len: usize, _write: bool) -> Result<(*mut u8, ()), DeviceError> {
        let place = self.machine.memory().host(address, len as u64);
        let place = place.ok_or(DeviceError::Unreachable {
            address,
            len: len as u64,
            what: "no device memory that is allocated from end to end",
        })?;
        Ok((place.as_ptr(), ()))
    }

    fn wrote(&self, address: u64, len: usize) {
        self.machine.host_wrote(address, len as u64);
    }

    fn has_read(&self, address: u64, len: usize) {
        self.machine.host_read(address, len as u64);
    }

    unsafe fn launch(
        self: &Arc<Self>,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
        after: &mut After,
    ) -> Result<Arc<EmuLaunch>, DeviceError> {
        after.catch_up();
        let Some(module) = module.as_any().downcast_ref::<EmuModule>() else {
            unreachable!("a module of another device")
        };
        let Some(kernel) = module.loaded.kernel_at(kernel.address) else {
            return Err(bad_grid(grid, "the function is no kernel of the image"));
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
        let started = self.machine.launch(
            &module.loaded,
            kernel,
            shape,
            params,
            Box::new(move || ended()),
        );
        let kernel = started.map_err(|error| bad_grid(grid, error.to_string()))?;
        Ok(Arc::new(EmuLaunch {
            kernel,
            _device: Arc::clone(self),
        }))
    }
}

/// A kernel under way.
pub(super) struct EmuLaunch {
    kernel: Kernel,
    /// Its multiprocessors end with it.
    _device: Arc<EmuDevice>,
}

impl Event for EmuLaunch {
    fn check(&self) -> EventState {
        if !self.kernel.is_over() {
            return EventState::Pending;
        }
        self.sync()
            .map_or_else(EventState::Failed, |()| EventState::Done)
    }

    fn sync(&self) -> Result<(), String> {
        Running::wait(self, None).unwrap_or(Ok(()))
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
