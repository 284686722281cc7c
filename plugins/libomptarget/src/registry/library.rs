//! A registered program or shared library, and its images on devices.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use revoff_host::Chain;
use revoff_host::image::Format;
use revoff_host::ranges::AddrRange;
use revoff_host::{Image, Kernel, Program};

use super::device_runtime::{IndirectCall, KernelEnvironment, RuntimeData};
use super::incompatible::{self, lacks};
use super::{host_functions, requirements};
use crate::abi::{
    BinaryDescription, DeviceImage, ENTRY_INDIRECT, ENTRY_REQUIRES, ENTRY_VTABLE, KIND_OPENMP,
    Name, OffloadEntry, OldOffloadEntry, REFERENCE,
};
use crate::args::POINTER;
use crate::device::Device;
use crate::device::mapped::Mapped;
use crate::locks::lock;
use crate::report::message::{self, Failed};
use crate::report::source::{self, SourceName};

/// A function or variable of a program with a counterpart in its images.
pub(crate) struct Entry {
    /// The address on the host.
    pub(crate) address: usize,
    /// The name in the images.
    pub(crate) name: String,
    /// The name in the program's memory.
    symbol: SourceName,
    /// Bytes of a variable; 0 of a function.
    size: u64,
    flags: u32,
}

/// A registered program or library.
pub(crate) struct Library {
    /// The descriptor, by which it is unregistered.
    pub(crate) descriptor: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) images: Vec<Image>,
    /// Errors of images that cannot be read.
    unreadable: Vec<String>,
    /// By the number of the device.
    loaded: Mutex<BTreeMap<usize, Arc<Loaded>>>,
}

/// An image of it on a device.
pub(crate) struct Loaded {
    /// By entry; `None` for entries that are not functions of the image.
    kernels: Vec<Option<LoadedKernel>>,
    pub(crate) runtime_data: RuntimeData,
    /// Whether launches need threads that a forked process does not have.
    needs_threads: bool,
    /// Its variables, except those that another image has.
    variables: Vec<Arc<Mapped>>,
    _program: Program,
}

/// A kernel of an image on a device.
pub(crate) struct LoadedKernel {
    pub(crate) kernel: Kernel,
    pub(crate) environment: KernelEnvironment,
}

/// The contents of a descriptor.
pub(crate) struct Description {
    pub(crate) library: Library,
    /// The program's requirements on all devices: OpenMP's flags.
    pub(crate) requirements: u64,
}

impl Description {
    /// Reads a descriptor. Images are copied.
    ///
    /// # Safety
    /// A compiler made the descriptor.
    pub(crate) unsafe fn read(descriptor: *const BinaryDescription) -> Self {
        // SAFETY: the caller's promise, here and for all that it points to.
        let described = unsafe { &*descriptor };
        // SAFETY: the caller's promise covers the entries.
        let (entries, requirements) = unsafe { read_entries(described) };
        let count = usize::try_from(described.image_count).unwrap_or(0);
        let mut unreadable = Vec::new();
        let images = (0..count).filter_map(|at| {
            // SAFETY: the caller's promise covers `image_count` images.
            let image = unsafe { &*described.images.add(at) };
            // SAFETY: the caller's promise covers the image's bytes.
            match unsafe { read_image(at, image) } {
                Ok(image) => Some(image),
                Err(error) => {
                    unreadable.push(Chain(&error).to_string());
                    None
                }
            }
        });
        let images = images.collect();
        let library = Library {
            descriptor: descriptor.addr(),
            images,
            unreadable,
            entries,
            loaded: Mutex::default(),
        };
        Self {
            library,
            requirements,
        }
    }
}

/// # Safety
/// As for [`Description::read`].
unsafe fn read_image(
    at: usize,
    image: &DeviceImage,
) -> Result<Image, revoff_host::image::ImageError> {
    let len = image.end.addr().saturating_sub(image.start.addr());
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(image.start.cast::<u8>(), len) };
    let program = std::env::current_exe();
    let program = program.map_or_else(
        |_| "this program".to_owned(),
        |path| path.display().to_string(),
    );
    Image::from_bytes(format!("{program}, image {at}"), bytes)
}

/// # Safety
/// As for [`Description::read`].
unsafe fn read_entries(described: &BinaryDescription) -> (Vec<Entry>, u64) {
    let (begin, end) = (described.entries_begin, described.entries_end);
    let bytes = end.addr().saturating_sub(begin.addr());
    let mut requirements = 0;
    if bytes == 0 {
        return (Vec::new(), requirements);
    }
    // SAFETY: the caller's promise: there is at least one.
    let is_old = unsafe { (*begin).reserved } != 0;
    if is_old {
        let count = bytes / size_of::<OldOffloadEntry>();
        // SAFETY: the caller's promise; the form before LLVM 20 begins with an address, which is
        // not 0.
        let entries = unsafe { std::slice::from_raw_parts(begin.cast::<OldOffloadEntry>(), count) };
        let entries = entries.iter().map(|entry| {
            // SAFETY: the caller's promise: the name is a C string or null.
            unsafe { read_entry(entry.address, entry.name, entry.size, entry.flags as u32) }
        });
        return (entries.collect(), requirements);
    }
    let count = bytes / size_of::<OffloadEntry>();
    // SAFETY: the caller's promise: `bytes` lie between the entries' begin and end.
    let described = unsafe { std::slice::from_raw_parts(begin, count) };
    let mut entries = Vec::with_capacity(count);
    for entry in described.iter().filter(|entry| entry.kind == KIND_OPENMP) {
        if entry.flags == ENTRY_REQUIRES {
            requirements |= entry.data;
        } else {
            // SAFETY: the caller's promise: the name is a C string or null.
            entries.push(unsafe { read_entry(entry.address, entry.name, entry.size, entry.flags) });
        }
    }
    (entries, requirements)
}

/// # Safety
/// `name` is a C string, or null.
unsafe fn read_entry(address: *mut c_void, name: Name, size: u64, flags: u32) -> Entry {
    Entry {
        address: address.addr(),
        // SAFETY: the caller's promise.
        name: unsafe { source::text(name) }.unwrap_or_default(),
        symbol: SourceName(name),
        size,
        flags,
    }
}

/// Whether a device of this name may run the image.
pub(crate) fn suits(device: &str, image: &Image) -> bool {
    let (kind, arch) = device.split_once(':').unwrap_or((device, ""));
    let is_amd = kind == "hsa" || kind == "emu" && arch.starts_with("gfx");
    let is_nvidia = !is_amd && (kind == "cuda" || kind == "emu");
    match image.format() {
        Format::SharedObject(_) => kind == "host",
        Format::Ptx => is_nvidia,
        Format::Cubin | Format::Fatbin => kind == "cuda",
        Format::CodeObject => is_amd,
        // Its members are for several devices; an open device selects one.
        _ => image.members().iter().any(|member| {
            let for_nvidia = member.triple.starts_with("nvptx");
            let for_amd = member.triple.starts_with("amdgcn");
            match (is_nvidia, is_amd) {
                (true, _) => for_nvidia,
                (_, true) => for_amd,
                _ => !for_nvidia && !for_amd,
            }
        }),
    }
}

impl Library {
    /// The image on the device; loads it the first time.
    ///
    /// # Errors
    /// No image can be loaded there.
    pub(crate) fn on(&self, device: &Device) -> Result<Arc<Loaded>, Failed> {
        let mut loaded = lock(&self.loaded);
        if let Some(loaded) = loaded.get(&device.number) {
            return Ok(Arc::clone(loaded));
        }
        let new = Arc::new(self.load(device)?);
        loaded.insert(device.number, Arc::clone(&new));
        Ok(new)
    }

    fn load(&self, device: &Device) -> Result<Loaded, Failed> {
        let mut why = Vec::new();
        let program = self.images.iter().find_map(|image| {
            let image = match device.runtime.select(image) {
                Ok(image) if suits(&device.name, &image) => image,
                Ok(_) => return None,
                Err(error) => {
                    why.push(Chain(&error).to_string());
                    return None;
                }
            };
            let functions = host_functions::of(&image, self.descriptor);
            let program = functions.and_then(|functions| device.runtime.load(&image, &functions));
            let said = |error: revoff_host::RuntimeError| {
                lacks(&image).unwrap_or_else(|| Chain(&error).to_string())
            };
            let program = program.map_err(|error| why.push(said(error))).ok()?;
            Some((program, image.has_reverse_offload()))
        });
        let Some((program, calls_host)) = program else {
            // Images for several GPUs have the same error.
            why.dedup();
            why.extend(self.unreadable.iter().cloned());
            let why = if why.is_empty() {
                format!(
                    "it is `{}`, and {}",
                    device.name,
                    incompatible::kinds(self.images.iter())
                )
            } else {
                why.join("; ")
            };
            return Err(message::error(&format!(
                "No image loaded for device id {}: {why}",
                device.number
            )));
        };
        let mut kernels = Vec::with_capacity(self.entries.len());
        let mut variables = Vec::new();
        let mut indirect_calls = Vec::new();
        for entry in &self.entries {
            kernels.push(match entry.size {
                0 => match program.kernel(&entry.name) {
                    Ok(kernel) => Some(LoadedKernel {
                        environment: KernelEnvironment::read(device, &program, &entry.name)?,
                        kernel,
                    }),
                    Err(_) => None,
                },
                _ => {
                    variables.extend(map_variable(device, &program, entry, &mut indirect_calls)?);
                    None
                }
            });
        }
        let known = kernels.iter().flatten().map(|loaded| &loaded.kernel);
        let runtime_data = RuntimeData::fill(device, &program, known, indirect_calls)?;
        Ok(Loaded {
            kernels,
            runtime_data,
            needs_threads: calls_host || !device.calls_kernels,
            variables,
            _program: program,
        })
    }

    /// Forgets its variables on a device.
    pub(crate) fn forget_on(&self, device: &Device) {
        let loaded = lock(&self.loaded);
        let variables = loaded.get(&device.number).map(|loaded| &loaded.variables);
        for variable in variables.into_iter().flatten() {
            device.table.forget(variable);
        }
    }
}

/// Maps a variable of the program; `None` if another image has it. If it is called through
/// pointers, adds its addresses to `indirect_calls`.
fn map_variable(
    device: &Device,
    program: &Program,
    entry: &Entry,
    indirect_calls: &mut Vec<IndirectCall>,
) -> Result<Option<Arc<Mapped>>, Failed> {
    let found = program.global(&entry.name);
    let found = found.map_err(|error| message::failure(&error))?;
    let Some(found) = found else {
        message::error(&format!("Failed to load symbol {}", entry.name));
        return Ok(None);
    };
    let Some(range) = AddrRange::new(entry.address, entry.size as usize) else {
        return Ok(None);
    };
    let mut address = found.address.0;
    if entry.flags & (ENTRY_INDIRECT | ENTRY_VTABLE) != 0 {
        let to = (&raw mut address).cast();
        // SAFETY: a local; this waits for the copy.
        device.copy(|queue| unsafe { queue.copy_from_device(to, found.address, POINTER) })?;
        indirect_calls.push(IndirectCall {
            host: entry.address as u64,
            device: address,
        });
    } else if requirements::is_memory_shared() && entry.name.ends_with(REFERENCE) {
        // Both are pointers; the host's points to the variable itself.
        let from = entry.address as *const u8;
        // SAFETY: the program's variable; this waits for the copy.
        device.copy(|queue| unsafe { queue.copy_to_device(found.address, from, POINTER) })?;
    }
    Ok(device.table.add_variable(range, address, entry.symbol))
}

impl Loaded {
    /// Whether launches need threads that a forked process does not have.
    pub(crate) fn needs_threads(&self) -> bool {
        self.needs_threads
    }

    /// The kernel of the entry at `at`.
    pub(crate) fn kernel(&self, at: usize) -> Option<&LoadedKernel> {
        self.kernels.get(at)?.as_ref()
    }
}
