//! Operations of `emu`'s queues: copies and launches.

use std::sync::Arc;

use ptx_emu::{Fault, FaultKind, Prepared};
use shared_abi::image::PANIC_ASSERTION;

use super::EmuDevice;
use super::module::EmuModule;
use crate::device::in_process::{InProcess, QueueOp, Work};
use crate::device::{
    DeviceAddr, DeviceError, Global, Grid, LaunchContext, Module, Outcome, Params,
};

// SAFETY: device memory, a mapping of whole pages, lives as long as the device, and device threads
// access it atomically.
unsafe impl InProcess for EmuDevice {
    type Held = ();

    /// As on hardware, only device memory can be copied.
    fn resolve(
        &self,
        address: DeviceAddr,
        len: usize,
        _write: bool,
    ) -> Result<(*mut u8, ()), DeviceError> {
        let place = self.machine.memory().host(address.0, len as u64);
        let place = place.ok_or(DeviceError::Unreachable {
            address,
            len: len as u64,
            what: "no device memory that is allocated from end to end",
        })?;
        Ok((place.as_ptr(), ()))
    }

    fn wrote(&self, address: DeviceAddr, len: usize) {
        self.machine.host_wrote(address.0, len as u64);
    }

    fn has_read(&self, address: DeviceAddr, len: usize) {
        self.machine.host_read(address.0, len as u64);
    }

    unsafe fn prepare(
        self: &Arc<Self>,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Box<dyn Work>, DeviceError> {
        let Some(module) = module.downcast_ref::<EmuModule>() else {
            unreachable!("a module of another device")
        };
        let Some(kernel) = module.loaded.kernel_at(kernel.address.0) else {
            return Err(grid.bad("the function is no kernel of the image"));
        };
        let shape = ptx_emu::Grid {
            grid: [grid.teams, 1, 1],
            block: context.block.of_x(grid)?,
            shared: context.block.shared_bytes,
        };
        let prepared = self
            .machine
            .prepare(&module.loaded, kernel, shape, params.iter());
        Ok(Box::new(EmuLaunch {
            prepared: prepared.map_err(|error| grid.bad(error.to_string()))?,
            ended: context.ended,
            device: Arc::clone(self),
        }))
    }
}

/// The message about a fault, without the kernel, which the launch error names.
fn message(fault: &Fault) -> String {
    match &fault.what {
        FaultKind::Assertion {
            file,
            line,
            message,
            ..
        } if message == PANIC_ASSERTION => {
            format!("panicked at {file}:{line}: {}", fault.lane())
        }
        what => format!("{}: {what}", fault.location()),
    }
}

/// A kernel that has not started.
struct EmuLaunch {
    prepared: Prepared,
    ended: Arc<dyn Fn() + Send + Sync>,
    /// Its multiprocessors stop when it is dropped.
    device: Arc<EmuDevice>,
}

impl Work for EmuLaunch {
    fn begin(self: Box<Self>, op: &Arc<QueueOp>) -> Option<Outcome> {
        let machine = Arc::clone(&self.device.machine);
        let op = Arc::clone(op);
        let (ended, device) = (Arc::clone(&self.ended), self.device);
        let over = move |outcome: Result<(), Fault>| {
            ended();
            // Dropped first, so that a thread that learns of the end finds them gone.
            drop((ended, device));
            op.finish(outcome.map_err(|fault| message(&fault).into()));
        };
        let started = machine.start(self.prepared, Box::new(over));
        let error = started.err()?;
        (self.ended)();
        Some(Err(error.to_string().into()))
    }

    fn give_up(self: Box<Self>) {
        (self.ended)();
    }
}
