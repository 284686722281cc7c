//! Launching a target region for libgomp.

use std::ffi::c_void;
use std::sync::Arc;

use revoff_host::targets::count::Count;
use revoff_host::{Grid, Kernel};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::image::readable;
use crate::launch::{Fault, RequestedGrid, Running};
use crate::libgomp;
use crate::load::TargetFunction;
use crate::plugin::OpenDevice;

/// Prints a launch for debugging; a thread has `lanes` lanes.
pub fn announce(device: &Device, kernel: &Kernel, grid: Grid, lanes: u32) {
    let Grid { teams, threads } = grid;
    libgomp::debug(&format!(
        "device {}: {}: {} of {} of {}",
        device.ord,
        readable(&kernel.declaration().name),
        Count(teams.into(), "team"),
        Count(threads.into(), "thread"),
        Count(lanes.into(), "lane"),
    ));
}

/// A running region.
pub(crate) struct Region {
    running: Box<dyn Running>,
    /// The kernel's names in its image and in the source.
    names: [String; 2],
    /// Dropped last.
    counted: Counted,
}

/// A region counted by its device.
struct Counted(Arc<Device>);

impl Counted {
    fn new(device: &Arc<Device>) -> Self {
        device.regions.begin();
        Self(Arc::clone(device))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.regions.end();
    }
}

impl Region {
    /// Starts the region `function` with its variables at `vars`.
    ///
    /// # Safety
    /// All three are arguments of `GOMP_OFFLOAD_run`.
    ///
    /// # Errors
    /// The device cannot run it.
    pub(crate) unsafe fn start(
        opened: &OpenDevice,
        function: *const c_void,
        vars: *const c_void,
        args: *const *const c_void,
    ) -> Result<Self> {
        // SAFETY: the caller vouches for the list.
        let requested = unsafe { RequestedGrid::read(args) };
        let vars = vars.addr() as u64;
        let images = opened.images();
        let address = function.addr();
        let found = images
            .iter()
            .find_map(|image| Some((image, image.function(address)?)));
        let (image, function) = found.ok_or(Error::NoFunction(address))?;
        let TargetFunction {
            name,
            mangled,
            kernel,
        } = function;
        let Some(kernel) = kernel else {
            return Err(Error::NoKernel(name.clone()));
        };
        let device = &opened.device;
        let counted = Counted::new(device);
        // SAFETY: the image's own kernel; libgomp keeps the memory of the variables until the end
        // of the region is reported.
        let running = unsafe { image.kernels.start(device, kernel, vars, requested) };
        let running = running.map_err(|source| Error::Start {
            name: name.clone(),
            source: Box::new(source),
        });
        Ok(Self {
            running: running?,
            names: [mangled.clone(), name.clone()],
            counted,
        })
    }

    /// Waits until the region has ended.
    ///
    /// # Errors
    /// It failed.
    pub(crate) fn wait(self) -> Result<(), Fault> {
        self.running.wait().map_err(|fault| {
            let [mangled, name] = self.names;
            match fault {
                Fault::Failed(reason) => {
                    self.counted.0.regions.note_failed();
                    Fault::Failed(Error::Region {
                        mangled,
                        name,
                        reason: Box::new(reason),
                    })
                }
                Fault::Aborted { how, .. } => Fault::Aborted { kernel: name, how },
                Fault::Exited(status) => Fault::Exited(status),
            }
        })
    }
}
