//! Loading a shared object as an image.

use std::ffi::c_void;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::{Arc, Mutex};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rustix::process::{Resource, getrlimit};
use shared_abi::image::{HOST_ARCH, HOST_WAIT, KERNEL_PREFIX};
use targets::DeviceArch;
use targets::gcc::TARGET_EXT;

use super::{lock, thread, wait};
use crate::base::ranges::AddrRange;
use crate::device::in_process::MAX_THREADS;
use crate::device::loader::{loader_reason, without};
use crate::device::{DeviceAddr, DeviceError, Global, KernelLimits, Module};
use crate::image::{Format, HOST_MACHINE, Image, ImageError, Segment};

/// Device threads of one launch that exist at a time, rounded to whole teams; further teams wait
/// for a free place, like blocks on a GPU.
pub(super) const RESIDENT: u32 = 2048;

/// The reason why the loader rejects the image, whose file is at `path`.
fn refusal(reason: &str, path: &str) -> String {
    let reason = without(path, reason);
    if reason.contains(&format!("undefined symbol: {TARGET_EXT}"))
        || reason.contains("symbol: revoff_")
    {
        return format!(
            "{reason}: link the image with librevoff_piece.a (docs/linking.md); in Rust, call \
             `revoff_device::image!()` in the root of the kernel crate"
        );
    }
    reason.to_owned()
}

/// Held while an image is loaded or unloaded. The system's loader has its own lock, but it reuses
/// the addresses of unloaded images: accesses by an image's last threads must precede the loading
/// of the next one, also for a sanitizer that does not see the loader's lock.
static LOADER: Mutex<()> = Mutex::new(());

/// A loaded image.
pub(super) struct HostModule {
    image: Image,
    /// The offset of addresses in the image.
    base: u64,
    /// Keeps the code mapped; taken by the drop.
    library: Option<Library>,
    /// The loader identifies images by their file names, which contain this descriptor's number: it
    /// must not be reused while the image is loaded.
    _file: File,
}

impl HostModule {
    pub(super) fn load(image: &Image) -> Result<Arc<Self>, ImageError> {
        let name = image.name().to_owned();
        if image.format() != Format::SharedObject(HOST_MACHINE) {
            return Err(ImageError::OtherMachine {
                name,
                found: image.described(),
                device: "host".to_owned(),
                wanted: Format::SharedObject(HOST_MACHINE).to_string(),
                arch: Box::new(DeviceArch::this_machine()),
            });
        }
        let failed = |reason: String| ImageError::Load {
            name: name.clone(),
            reason,
        };
        let _loader = lock(&LOADER);
        // A separate file for each load: images loaded twice have separate variables, as on a GPU.
        let file = memory_file(image.bytes()).map_err(|e| failed(e.to_string()))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: loading runs the image's initialisers. The caller of `load` trusts the image's
        // code as much as any library's; it is checked to be a shared object for this machine.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|e| failed(refusal(&loader_reason(&e), &path)))?;
        let handle = library.into_raw();
        // SAFETY: the handle is the library's, which is loaded.
        let base = unsafe { base_of(handle) };
        // SAFETY: the handle is the library's, from `into_raw`, and used once.
        let library = unsafe { Library::from_raw(handle) };
        let module = Arc::new(Self {
            base: base
                .ok_or_else(|| failed("the loader does not report its address".to_owned()))?,
            image: image.clone(),
            library: Some(library),
            _file: file,
        });
        module.write_services(HOST_ARCH, &raw const thread::SERVICES)?;
        module.write_services(HOST_WAIT, &raw const wait::SERVICES)?;
        Ok(module)
    }

    /// Writes the address of some of the device's services into the image, if it has the symbol.
    fn write_services<T>(&self, symbol: &str, services: *const T) -> Result<(), ImageError> {
        let Some(global) = self.find(symbol, false) else {
            return Ok(());
        };
        let size = size_of_val(&services) as u64;
        if global.size != size || !self.is_loaded(global.address, size, |segment| segment.writable)
        {
            return Err(ImageError::BadSymbol {
                name: self.image.name().to_owned(),
                symbol: symbol.to_owned(),
                reason: format!("has {} bytes, expected {size} writable ones", global.size),
            });
        }
        // SAFETY: the symbol is a writable pointer-sized variable of the image,
        // and no code of the image runs yet.
        unsafe { (global.address.0 as *mut *const T).write_unaligned(services) };
        Ok(())
    }

    /// Whether there is code at the address.
    pub(super) fn is_code(&self, address: DeviceAddr) -> bool {
        self.is_loaded(address, 1, |segment| segment.executable)
    }

    /// Whether the range lies in a segment of the image that is `suitable`.
    pub(super) fn is_loaded(
        &self,
        address: DeviceAddr,
        len: u64,
        suitable: impl Fn(&Segment) -> bool,
    ) -> bool {
        let Some(offset) = address.0.checked_sub(self.base) else {
            return false;
        };
        self.image.segments().iter().any(|segment| {
            suitable(segment)
                && AddrRange::new(segment.address, segment.size)
                    .is_some_and(|segment| segment.has(offset, len))
        })
    }

    /// Writes which kernel of the image begins at `address`; returns whether the image describes
    /// its parameters.
    pub(super) fn describe_kernel(
        &self,
        address: DeviceAddr,
        f: &mut fmt::Formatter<'_>,
    ) -> Result<bool, fmt::Error> {
        let symbols = self.image.symbols();
        let offset = address.0.wrapping_sub(self.base);
        let found = symbols.iter().find(|s| s.is_code && s.address == offset);
        let Some(kernel) = found else {
            write!(f, "a kernel of {}", self.image.name())?;
            return Ok(false);
        };
        write!(f, "kernel `{}` of {}", kernel.name, self.image.name())?;
        let is_description = |name: &str| name.strip_prefix(KERNEL_PREFIX) == Some(&kernel.name);
        Ok(symbols.iter().any(|symbol| is_description(&symbol.name)))
    }

    fn find(&self, name: &str, is_code: bool) -> Option<Global> {
        let symbol = self
            .image
            .symbol(name)
            .filter(|symbol| symbol.is_code == is_code)?;
        Some(Global {
            address: DeviceAddr(self.base.wrapping_add(symbol.address)),
            size: symbol.size,
        })
    }
}

impl Drop for HostModule {
    fn drop(&mut self) {
        let _loader = lock(&LOADER);
        self.library = None;
    }
}

impl Module for HostModule {
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        Ok(self.find(name, false))
    }

    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        // The symbol table comes from the file, which may declare anything as a function.
        let found = self.find(name, true);
        Ok(found.filter(|kernel| self.is_code(kernel.address)))
    }

    fn limits(&self, _kernel: Global) -> Result<KernelLimits, DeviceError> {
        Ok(KernelLimits {
            block: MAX_THREADS,
            processor: RESIDENT,
            processors: 1,
            shared_bytes: 0,
        })
    }
}

/// The offset that the loader has added to the addresses in an image; `None` if the loader does not
/// report it.
///
/// # Safety
/// `library` is a library's handle.
unsafe fn base_of(library: *mut c_void) -> Option<u64> {
    /// The part of the loader's `struct link_map` that debuggers rely on.
    #[repr(C)]
    struct LinkMap {
        base: usize,
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the caller's promise; the request writes one pointer.
    let failed = unsafe { libc::dlinfo(library, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if failed != 0 || map.is_null() {
        return None;
    }
    // SAFETY: owned by the loader, as long as the library is loaded.
    Some(unsafe { (*map).base } as u64)
}

/// An unnamed file in memory with the given content.
fn memory_file(bytes: &[u8]) -> std::io::Result<File> {
    // The system ends a process that exceeds it.
    if let Some(limit) = getrlimit(Resource::Fsize).current
        && bytes.len() as u64 > limit
    {
        let size = bytes.len();
        return Err(std::io::Error::other(format!(
            "it has {size} bytes, but files are limited to {limit}: raise that limit (ulimit -f)"
        )));
    }
    // SAFETY: the name is a C string; the result is checked.
    let fd = unsafe { libc::memfd_create(c"revoff-image".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made, and it has no other owner.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    Ok(file)
}
