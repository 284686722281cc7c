//! The devices, by number.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::device::Device;
use crate::kind::{Gpu, kind};
use crate::{choice, libgomp, settings};

/// The plugin's state: one for the process.
pub(crate) struct Plugin {
    /// Names of the devices, in the order of their numbers.
    names: Vec<String>,
    /// Those that are initialised.
    devices: Mutex<Vec<Option<Arc<Device>>>>,
    /// What they have of their kind, as the environment says when the first is opened.
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
    /// How many devices there are.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// A name of device `ord` that no other has.
    pub(crate) fn uid(&self, ord: usize) -> Option<String> {
        let name = self.names.get(ord)?;
        Some(format!("REVOFF-{ord}-{name}"))
    }

    /// A list of devices is whole whatever panics.
    fn devices(&self) -> MutexGuard<'_, Vec<Option<Arc<Device>>>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its devices have of their kind.
    pub(crate) fn gpu(&self) -> &dyn Gpu {
        &**self.gpu.get_or_init(kind().read)
    }

    /// Opens device `ord`.
    ///
    /// # Errors
    /// There is none of that number, or it cannot be opened.
    pub(crate) fn init(&self, ord: usize) -> Result<(), String> {
        let Some(name) = self.names.get(ord) else {
            return Err(format!("no device {ord}: there are {}", self.count()));
        };
        self.gpu();
        // An invalid value is reported, whether or not a region has the clause.
        settings::nowait();
        let device = Device::open(ord, name).map_err(|error| error.to_string())?;
        self.devices()[ord] = Some(Arc::new(device));
        Ok(())
    }

    /// The end of device `ord`, and of the process: perhaps by `exit` in a host region,
    /// which its kernel waits for, and whose thread this may be. So all stays as it is, for
    /// threads that are still at work.
    pub(crate) fn fini(&self, ord: usize) {
        // Relaxed: seen soon enough.
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
        // Relaxed: as where it is set.
        self.finished.load(Ordering::Relaxed)
    }

    /// Device `ord`.
    ///
    /// # Errors
    /// It is not initialised.
    pub(crate) fn device(&self, ord: i32) -> Result<Arc<Device>, String> {
        let device = usize::try_from(ord)
            .ok()
            .and_then(|ord| self.devices().get(ord).cloned().flatten());
        device.ok_or_else(|| format!("device {ord} is not initialised"))
    }
}
