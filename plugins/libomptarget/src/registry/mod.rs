//! Registered programs and libraries, and their devices.

pub(crate) mod construct;
pub(crate) mod device_runtime;
mod host_call;
mod host_functions;
mod incompatible;
mod library;
mod objects;
pub(crate) mod requirements;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use revoff_host::Chain;
use revoff_host::Kernel;
use revoff_host::device::KINDS;
use revoff_host::image::Format;

use self::device_runtime::KernelEnvironment;
use self::library::{Description, Library, Loaded, LoadedKernel};
use self::requirements::is_memory_shared;
use crate::abi::{BinaryDescription, libomp};
use crate::device::Device;
use crate::report::message::{self, Failed};
use crate::{locks, settings};

/// Devices of a program that is built for the host: as many as LLVM's runtime shows.
const HOST_DEVICES: usize = 4;

static REGISTRY: RwLock<Registry> = RwLock::new(Registry {
    libraries: Vec::new(),
    devices: Vec::new(),
    registered: 0,
    registrations: 0,
});

/// Kernels by the address of the host's version and the number of the device.
type Kernels = HashMap<(usize, usize), Arc<DeviceFunction>>;

/// Kernels that have been looked up.
static KERNELS: OnceLock<RwLock<Kernels>> = OnceLock::new();

struct Registry {
    libraries: Vec<Arc<Library>>,
    /// By number.
    devices: Vec<Arc<LazyDevice>>,
    /// Registrations that have not been unregistered.
    registered: usize,
    /// All registrations.
    registrations: u64,
}

/// A device that is opened at its first use.
struct LazyDevice {
    name: String,
    opened: OnceLock<revoff_host::Result<Arc<Device>, revoff_host::RuntimeError>>,
}

/// A kernel of an image on a device.
pub(crate) struct DeviceFunction {
    loaded: Arc<Loaded>,
    at: usize,
    pub(crate) name: String,
}

impl DeviceFunction {
    /// Whether launching it needs threads that a forked process does not have.
    pub(crate) fn needs_threads(&self) -> bool {
        self.loaded.needs_threads()
    }

    fn loaded(&self) -> &LoadedKernel {
        match self.loaded.kernel(self.at) {
            Some(loaded) => loaded,
            None => unreachable!("it was there when it was found"),
        }
    }

    /// The kernel.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.loaded().kernel
    }

    /// Its requirements on launches.
    pub(crate) fn environment(&self) -> &KernelEnvironment {
        &self.loaded().environment
    }

    /// The environment of launches that need none of their own.
    pub(crate) fn idle_environment(&self) -> u64 {
        self.loaded.runtime_data.idle()
    }
}

fn read() -> RwLockReadGuard<'static, Registry> {
    locks::read(&REGISTRY)
}

fn write() -> RwLockWriteGuard<'static, Registry> {
    locks::write(&REGISTRY)
}

fn kernels() -> &'static RwLock<Kernels> {
    KERNELS.get_or_init(RwLock::default)
}

/// Registers the images of a program or library.
///
/// # Safety
/// A compiler made the descriptor, and it is valid until it is unregistered.
pub(crate) unsafe fn register(descriptor: *const BinaryDescription) {
    // SAFETY: the caller's promise is that of `Description::read`.
    let Description {
        library,
        requirements,
    } = unsafe { Description::read(descriptor) };
    requirements::add(requirements);
    // The library may have loaded libomp.
    libomp::retry_lookups();
    // Before the lock is taken: this may start libomp, which asks for the number of devices, as do
    // libraries that drivers load.
    let names = if settings::is_disabled() {
        Vec::new()
    } else {
        let is_nvidia = |format| {
            matches!(
                format,
                Format::Ptx | Format::Cubin | Format::Fatbin | Format::Bundle
            )
        };
        device_names(|| library.images.iter().any(|image| is_nvidia(image.format())))
    };
    let mut registry = write();
    registry.registered += 1;
    registry.registrations += 1;
    let suits = |name: &str| {
        let mut images = library.images.iter();
        images.any(|image| library::suits(name, image))
    };
    registry.add_devices(&names, suits);
    registry.libraries.push(Arc::new(library));
}

/// Adds all devices of the machine, regardless of the images' targets.
pub(crate) fn add_all_devices() {
    if !settings::is_disabled() {
        let names = device_names(|| true);
        write().add_devices(&names, |_| true);
    }
}

/// The devices that the program may use. Looking for GPUs starts a driver, so it `may_look` or not.
fn device_names(may_look: impl Fn() -> bool) -> Vec<String> {
    // Rejects an invalid value even if the setting is not used later.
    let _ = settings::devices_resolve();
    settings::devices().unwrap_or_else(|| {
        let gpus = if may_look() { gpus() } else { Vec::new() };
        let hosts = std::iter::repeat_n("host".to_owned(), HOST_DEVICES);
        gpus.into_iter().chain(hosts).collect()
    })
}

impl Registry {
    /// Numbers the devices of these `names` that are `wanted` and have no number yet.
    fn add_devices(&mut self, names: &[String], wanted: impl Fn(&str) -> bool) {
        let mut before: HashMap<&str, usize> = HashMap::new();
        for device in &self.devices {
            *before.entry(&device.name).or_default() += 1;
        }
        let mut new = Vec::new();
        for name in names {
            match before.get_mut(name.as_str()) {
                Some(times) if *times > 0 => *times -= 1,
                // Other devices do not reach the host's memory.
                _ if is_memory_shared() && name != "host" => {}
                _ if wanted(name) => new.push(name.clone()),
                _ => {}
            }
        }
        self.devices.extend(new.into_iter().map(|name| {
            Arc::new(LazyDevice {
                name,
                opened: OnceLock::new(),
            })
        }));
    }
}

/// The names of all GPUs.
fn gpus() -> Vec<String> {
    let kinds = KINDS
        .iter()
        .filter(|kind| kind.name == "cuda" || kind.name == "hsa");
    kinds
        .flat_map(|kind| {
            kind.devices().unwrap_or_else(|error| {
                tracing::debug!(kind = kind.name, %error, "no GPU");
                Vec::new()
            })
        })
        .collect()
}

/// The result of [`unregister`].
pub(crate) struct Removed {
    library: Option<Arc<Library>>,
    opened: Vec<Arc<Device>>,
    /// Nothing is registered any more.
    pub(crate) is_last: bool,
}

impl Removed {
    /// Forgets the kernels and variables of what was removed.
    pub(crate) fn forget(self) {
        let Some(library) = self.library else { return };
        let addresses: Vec<usize> = library.entries.iter().map(|entry| entry.address).collect();
        let mut kernels = locks::write(kernels());
        kernels.retain(|(address, _), _| !addresses.contains(address));
        drop(kernels);
        for device in self.opened {
            library.forget_on(&device);
        }
    }
}

/// Reverses [`register`]; with null, [`start`].
pub(crate) fn unregister(descriptor: *const BinaryDescription) -> Removed {
    let mut registry = write();
    let at = registry
        .libraries
        .iter()
        .position(|library| library.descriptor == descriptor.addr());
    let library = at.map(|at| registry.libraries.remove(at));
    registry.registered = registry.registered.saturating_sub(1);
    Removed {
        library,
        opened: registry
            .devices
            .iter()
            .filter_map(|device| device.get())
            .collect(),
        is_last: registry.registered == 0,
    }
}

/// Counts an explicit start of the runtime.
pub(crate) fn start() {
    write().registered += 1;
}

impl LazyDevice {
    /// The device, if it is open.
    fn get(&self) -> Option<Arc<Device>> {
        self.opened.get()?.as_ref().ok().cloned()
    }

    /// Whether it has queues for kernels, which is known before it is opened: on `host` devices the
    /// launching thread runs the kernel.
    fn has_queues(&self) -> bool {
        self.name != "host"
    }
}

/// The number of devices: 0 if everything runs on the host. It does not call libomp, which calls
/// this while it starts.
pub(crate) fn device_count() -> usize {
    read().devices.len()
}

/// Whether the device with this number has queues for kernels.
pub(crate) fn has_queues(number: i64) -> bool {
    let number = if number == -1 {
        libomp::default_device()
    } else {
        number
    };
    let registry = read();
    let at = usize::try_from(number).ok();
    let device = at.and_then(|at| registry.devices.get(at));
    device.is_some_and(|device| device.has_queues())
}

/// Whether any device has queues for kernels.
pub(crate) fn some_have_queues() -> bool {
    device_count() > 0 && read().devices.iter().any(|device| device.has_queues())
}

/// The device with this number, opened and with all images loaded. Ends the process if there is
/// none, as LLVM's runtime does.
pub(crate) fn device(number: i64) -> Arc<Device> {
    let registry = read();
    let count = registry.devices.len();
    let found = usize::try_from(number)
        .ok()
        .and_then(|at| registry.devices.get(at).map(|d| (at, d)));
    let Some((at, numbered)) = found else {
        drop(registry);
        let what = format!(
            "\"invalid value\" device number '{number}' out of range, only {count} devices available"
        );
        message::fatal(number, &what);
    };
    let (numbered, registrations) = (Arc::clone(numbered), registry.registrations);
    drop(registry);
    let opened = numbered
        .opened
        .get_or_init(|| Device::open(at, &numbered.name).map(Arc::new));
    match opened {
        Ok(device) => {
            load_new_images(device, registrations);
            Arc::clone(device)
        }
        Err(error) => message::fatal(
            number,
            &format!("device {number} is `{}`: {}", numbered.name, Chain(error)),
        ),
    }
}

/// Loads images that were registered since the last call, so that their variables are mapped.
fn load_new_images(device: &Device, registrations: u64) {
    device.load_new_images(registrations, || {
        let libraries = read().libraries.clone();
        for library in libraries {
            let mut images = library.images.iter();
            if images.any(|image| library::suits(&device.name, image)) {
                // The error has been reported, and is reported again when the image is used.
                let _ = library.on(device);
            }
        }
    });
}

/// The device's version of the function at `host`.
///
/// # Errors
/// No image contains it.
pub(crate) fn kernel(host: usize, device: &Device) -> Result<Arc<DeviceFunction>, Failed> {
    let key = (host, device.number);
    let known = locks::read(kernels());
    if let Some(found) = known.get(&key) {
        return Ok(Arc::clone(found));
    }
    drop(known);
    let registry = read();
    let found = registry.libraries.iter().find_map(|library| {
        let at = library
            .entries
            .iter()
            .position(|entry| entry.address == host)?;
        Some((Arc::clone(library), at))
    });
    let empty = registry
        .libraries
        .iter()
        .filter(|library| library.entries.is_empty())
        .count();
    drop(registry);
    let Some((library, at)) = found else {
        let hint = if empty > 0 {
            "; what was registered has no entries: a program by rustc has to be linked with a crate that \
             registers its images, see docs/llvm.md"
        } else {
            ""
        };
        return Err(message::error(&format!(
            "Host ptr {host:#x} does not have a matching target pointer{hint}."
        )));
    };
    let loaded = library.on(device)?;
    let name = library.entries[at].name.clone();
    if loaded.kernel(at).is_none() {
        return Err(message::error(&format!(
            "Failed to load kernel {name}: the image has no kernel of this name"
        )));
    }
    let found = Arc::new(DeviceFunction { loaded, at, name });
    let mut known = locks::write(kernels());
    known.insert(key, Arc::clone(&found));
    Ok(found)
}
