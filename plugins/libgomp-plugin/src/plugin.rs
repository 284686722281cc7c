//! The devices, by number.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::kind::{Gpu, kind};
use crate::{choice, libgomp, settings};

/// The plugin's state, one per process.
pub(crate) struct Plugin {
    /// Names of the devices, in the order of their numbers.
    names: Vec<String>,
    /// The initialised ones.
    devices: Mutex<Vec<Option<Arc<Device>>>>,
    /// The operations of their kind, read from the environment when the first is opened.
    gpu: OnceLock<Box<dyn Gpu>>,
    finished: AtomicBool,
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
    fn devices(&self) -> MutexGuard<'_, Vec<Option<Arc<Device>>>> {
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
        self.devices()[ord] = Some(Arc::new(Device::open(ord, name)?));
        Ok(())
    }

    /// Called at the end of the process for device `ord`: perhaps by `exit` in a host region, for
    /// which its kernel waits, on this thread. So the device stays open, for threads that still use
    /// it.
    pub(crate) fn fini(&self, ord: usize) {
        // Relaxed: it may be seen late.
        self.finished.store(true, Ordering::Relaxed);
        let device = self.devices().get(ord).cloned().flatten();
        if let Some(device) = device {
            device.destruct();
            let calls = device.runtime.requests();
            libgomp::debug(&format!("device {ord}: {calls} calls of the host"));
        }
    }

    /// Whether the process is ending.
    pub(crate) fn is_finished(&self) -> bool {
        // Relaxed: it may be seen late.
        self.finished.load(Ordering::Relaxed)
    }

    /// Device `ord`.
    ///
    /// # Errors
    /// It is not initialised.
    pub(crate) fn device(&self, ord: i32) -> Result<Arc<Device>> {
        let device = usize::try_from(ord)
            .ok()
            .and_then(|ord| self.devices().get(ord).cloned().flatten());
        device.ok_or(Error::NotInitialised(ord))
    }
}
