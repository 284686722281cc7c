//! The devices, by number, and their images.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use revoff_host::Chain;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::kind::{Gpu, kind};
use crate::load::{Loaded, Tables, load};
use crate::{choice, libgomp, settings};

/// The plugin's state, one per process.
pub(crate) struct Plugin {
    /// Names of the devices, in the order of their numbers.
    names: Vec<String>,
    /// The initialised ones.
    devices: Mutex<Vec<Option<Arc<OpenDevice>>>>,
    /// The operations of their kind, read from the environment when the first is opened.
    gpu: OnceLock<Box<dyn Gpu>>,
    finished: AtomicBool,
}

/// An initialised device.
pub(crate) struct OpenDevice {
    pub(crate) device: Arc<Device>,
    /// Images, which live until the process ends.
    images: Mutex<Vec<Arc<Loaded>>>,
}

impl OpenDevice {
    /// No panic leaves the list inconsistent.
    fn lock_images(&self) -> MutexGuard<'_, Vec<Arc<Loaded>>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the list of its images, since operations on them may take long.
    pub(crate) fn images(&self) -> Vec<Arc<Loaded>> {
        self.lock_images().clone()
    }

    /// Loads an image.
    ///
    /// # Safety
    /// As for [`load`].
    ///
    /// # Errors
    /// The device cannot run the image.
    pub(crate) unsafe fn load(
        &self,
        version: u32,
        data: *const c_void,
        host_indirect: *const u64,
    ) -> Result<Tables> {
        let gpu = plugin().gpu();
        // SAFETY: the caller's promise.
        let (image, tables) = unsafe { load(gpu, &self.device, version, data, host_indirect)? };
        self.lock_images().push(Arc::new(image));
        Ok(tables)
    }

    /// Runs the destructors of its images, the last image first, unless a region has failed or is
    /// running: then the process ends by `exit` in a host region, for which the device waits.
    fn destruct(&self) {
        if !self.device.regions.are_over() {
            return;
        }
        for image in self.images().iter().rev() {
            if let Err(error) = image.destruct(&self.device) {
                let ord = self.device.ord;
                libgomp::error(&format!("destructors of device {ord}: {}", Chain(&error)));
            }
        }
    }
}

/// The plugin's state.
pub(crate) fn plugin() -> &'static Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        if let Err(error) = revoff_log::show(None) {
            libgomp::error_of_all(&format!("{error}; nothing is shown"));
        }
        let names = choice::names();
        let devices = names.iter().map(|_| None).collect();
        Plugin {
            names,
            devices: Mutex::new(devices),
            gpu: OnceLock::new(),
            finished: AtomicBool::new(false),
        }
    })
}

impl Plugin {
    /// The number of devices.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// A unique name of device `ord`.
    pub(crate) fn uid(&self, ord: usize) -> Option<String> {
        let name = self.names.get(ord)?;
        Some(format!("REVOFF-{ord}-{name}"))
    }

    /// No panic leaves the list inconsistent.
    fn devices(&self) -> MutexGuard<'_, Vec<Option<Arc<OpenDevice>>>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operations of its devices' kind.
    pub(crate) fn gpu(&self) -> &dyn Gpu {
        &**self.gpu.get_or_init(kind().read)
    }

    /// Opens device `ord`.
    ///
    /// # Errors
    /// There is no device of that number, or it cannot be opened.
    pub(crate) fn init(&self, ord: usize) -> Result<()> {
        let Some(name) = self.names.get(ord) else {
            let count = self.count();
            return Err(Error::NoDevice { ord, count });
        };
        self.gpu();
        // An invalid value is reported even if no region has the clause.
        settings::nowait();
        let device = Device::open(ord, name)?;
        let description = device.runtime.description();
        libgomp::debug(&format!("device {ord} is `{name}`: {description}"));
        let opened = OpenDevice {
            device: Arc::new(device),
            images: Mutex::default(),
        };
        self.devices()[ord] = Some(Arc::new(opened));
        Ok(())
    }

    /// Called at the end of the process for device `ord`: perhaps by `exit` in a host region, for
    /// which its kernel waits, on this thread. So the device stays open, for threads that still use
    /// it.
    pub(crate) fn fini(&self, ord: usize) {
        // Relaxed: it may be seen late.
        self.finished.store(true, Ordering::Relaxed);
        let opened = self.devices().get(ord).cloned().flatten();
        if let Some(opened) = opened {
            opened.destruct();
            let calls = opened.device.runtime.requests();
            libgomp::debug(&format!("device {ord}: {calls} calls of the host"));
        }
    }

    /// Whether the process is ending.
    pub(crate) fn is_finished(&self) -> bool {
        // Relaxed: it may be seen late.
        self.finished.load(Ordering::Relaxed)
    }

    /// Device `ord`, with its images.
    ///
    /// # Errors
    /// It is not initialised.
    pub(crate) fn opened(&self, ord: i32) -> Result<Arc<OpenDevice>> {
        let opened = usize::try_from(ord)
            .ok()
            .and_then(|ord| self.devices().get(ord).cloned().flatten());
        opened.ok_or(Error::NotInitialised(ord))
    }

    /// Device `ord`.
    ///
    /// # Errors
    /// It is not initialised.
    pub(crate) fn device(&self, ord: i32) -> Result<Arc<Device>> {
        Ok(Arc::clone(&self.opened(ord)?.device))
    }
}
