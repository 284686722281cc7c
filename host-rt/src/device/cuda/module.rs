//! Loading images, directly or linked by the driver.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{
    CUdevice_attribute, CUfunction, CUfunction_attribute, CUjitInputType, CUlinkState, CUmodule,
    CUresult,
};
use targets::DeviceArch;
use targets::device_arch::Sm;

use super::context::Context;
use super::emulated;
use super::functions::Code;
use super::jit::JitLog;
use super::lock;
use crate::base::ranges::{AddrRange, Found, RangeMap};
use crate::device::{DeviceAddr, DeviceError, Global, KernelLimits, Module};
use crate::image::{Format, Image, ImageError};

/// A loaded image.
pub(super) struct CudaModule {
    context: Arc<Context>,
    /// Globals that were looked up are registered here.
    globals: Arc<Globals>,
    raw: CUmodule,
    /// The kernels that the image declares.
    kernels: HashMap<String, Global>,
}

// SAFETY: modules may be used by any number of threads.
unsafe impl Send for CudaModule {}
// SAFETY: the driver allows the use of modules by all threads; the other fields are `Sync`.
unsafe impl Sync for CudaModule {}

impl CudaModule {
    /// Loads `image` on a device of this architecture.
    pub(super) fn load(
        context: &Arc<Context>,
        globals: &Arc<Globals>,
        arch: &DeviceArch,
        image: &Image,
    ) -> Result<Arc<Self>, ImageError> {
        let parts = image.link_inputs();
        for part in parts {
            if let Some(wanted) = unsuitable(part, arch) {
                return Err(ImageError::OtherMachine {
                    name: part.name().to_owned(),
                    found: part.described(),
                    device: context.name().to_owned(),
                    wanted,
                    arch: Box::new(arch.clone()),
                });
            }
        }
        let failed = |error: DeviceError| ImageError::Load {
            name: image.name().to_owned(),
            reason: error.to_string(),
        };
        let _entered = context.enter().map_err(failed)?;
        let raw = match parts {
            [part] => load_data(context, &with_nul(part), part.name())?,
            parts => link(context, image.name(), parts)?,
        };
        let mut module = Self {
            context: Arc::clone(context),
            globals: Arc::clone(globals),
            raw,
            kernels: HashMap::new(),
        };
        // Kernels are looked up now, not when they are launched: the driver may load a kernel's
        // code at its first look-up, and may wait for all running kernels to do so.
        for kernel in image.kernels()? {
            if let Some(code) = module.function(&kernel.name).map_err(failed)? {
                module.kernels.insert(kernel.name, code);
            }
        }
        Ok(Arc::new(module))
    }

    fn function(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        let Ok(name) = CString::new(name) else {
            return Ok(None);
        };
        let _entered = self.context.enter()?;
        let mut function: CUfunction = null_mut();
        // SAFETY: the function writes the handle; the module is alive, the name a C
        // string.
        let code = unsafe {
            self.context
                .cu()
                .cuModuleGetFunction(&raw mut function, self.raw, name.as_ptr())
        };
        let found = self.found("cuModuleGetFunction", code)?;
        Ok(found.then_some(Global {
            address: DeviceAddr(function as u64),
            size: 0,
        }))
    }

    /// The result of a look-up: whether the symbol exists.
    fn found(&self, call: &'static str, code: Code) -> Result<bool, DeviceError> {
        if code == CUresult::CUDA_ERROR_NOT_FOUND {
            return Ok(false);
        }
        self.context.check(call, code).map(|()| true)
    }
}

impl Module for CudaModule {
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        let Ok(name) = CString::new(name) else {
            return Ok(None);
        };
        let _entered = self.context.enter()?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: the function writes the two numbers; the module is alive, the name
        // a C string.
        let code = unsafe {
            self.context.cu().cuModuleGetGlobal_v2(
                &raw mut address,
                &raw mut size,
                self.raw,
                name.as_ptr(),
            )
        };
        let found = self.found("cuModuleGetGlobal", code)?;
        if found {
            self.globals.add(self.raw, address, size as u64);
        }
        Ok(found.then_some(Global {
            address: DeviceAddr(address),
            size: size as u64,
        }))
    }

    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        match self.kernels.get(name) {
            Some(&code) => Ok(Some(code)),
            None => self.function(name),
        }
    }

    fn limits(&self, kernel: Global) -> Result<KernelLimits, DeviceError> {
        limits(&self.context, kernel)
    }
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        self.globals.remove(self.raw);
        let unloaded = self.context.enter().and_then(|_entered| {
            // SAFETY: loaded by `load`, and no longer used; launches own the module, so none of its
            // kernels runs.
            let code = unsafe { self.context.cu().cuModuleUnload(self.raw) };
            self.context.check("cuModuleUnload", code)
        });
        match unloaded {
            // The module is unloaded with the context.
            Ok(()) | Err(DeviceError::Lost { .. }) => {}
            Err(error) => tracing::warn!(%error, "an image was not unloaded"),
        }
    }
}

/// An attribute of a kernel.
pub(super) fn attribute(
    context: &Context,
    function: CUfunction,
    attribute: CUfunction_attribute,
) -> Result<u32, DeviceError> {
    let mut value = 0;
    // SAFETY: the function writes a number; the handle is alive.
    let code = unsafe {
        context
            .cu()
            .cuFuncGetAttribute(&raw mut value, attribute, function)
    };
    context.check("cuFuncGetAttribute", code)?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// Occupancy limits of a kernel.
fn limits(context: &Context, kernel: Global) -> Result<KernelLimits, DeviceError> {
    use CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR as REGISTERS,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as PROCESSORS,
    };
    use CUfunction_attribute::{
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as BLOCK, CU_FUNC_ATTRIBUTE_NUM_REGS as USED,
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as SHARED,
    };
    let _entered = context.enter()?;
    let function = kernel.address.0 as CUfunction;
    let used = attribute(context, function, USED)?.max(1);
    Ok(KernelLimits {
        block: attribute(context, function, BLOCK)?,
        processor: context.attribute(REGISTERS) / used,
        processors: context.attribute(PROCESSORS),
        shared_bytes: attribute(context, function, SHARED)?,
    })
}

/// The variables of images that were looked up by name. The host may copy to and from these without
/// asking the driver.
#[derive(Default)]
pub(super) struct Globals(Mutex<RangeMap<usize>>);

impl Globals {
    fn add(&self, module: CUmodule, address: u64, size: u64) {
        if let Some(range) = AddrRange::new(address, size) {
            // An error is one that was looked up before, or another name for it.
            let _ = lock(&self.0).insert(range, module.addr());
        }
    }

    fn remove(&self, module: CUmodule) {
        lock(&self.0).retain(|&of| of != module.addr());
    }

    /// `Some(true)` if the range is in one of them; otherwise only the driver knows.
    pub(super) fn contains(&self, address: DeviceAddr, len: u64) -> Option<bool> {
        let globals = lock(&self.0);
        let found = globals.find(AddrRange::new(address, len)?);
        matches!(found, Found::Inside(..)).then_some(true)
    }
}

/// A description of the images that the device loads; none if this is one of them.
fn unsuitable(part: &Image, arch: &DeviceArch) -> Option<String> {
    let (sm, formats, kinds) = match arch {
        DeviceArch::Emulated(sm) => (*sm, &EMULATED_FORMATS[..], "PTX and fatbins with it"),
        DeviceArch::Nvidia(sm) => (*sm, &FORMATS[..], "PTX, cubins and fatbins"),
        DeviceArch::Amd(_) | DeviceArch::Host(_) => unreachable!("the device is NVIDIA's"),
    };
    if !formats.contains(&part.format()) {
        return Some(kinds.to_owned());
    }
    let processor = part.processor().filter(|_| part.format() == Format::Ptx);
    let of = processor.and_then(|processor| processor.parse::<Sm>().ok());
    let is_newer = of.is_some_and(|of| !of.ptx_runs_on(sm));
    is_newer.then(|| format!("PTX for {arch} or older"))
}

/// The formats that drivers load, and that the emulated one does.
const FORMATS: [Format; 3] = [Format::Ptx, Format::Cubin, Format::Fatbin];
const EMULATED_FORMATS: [Format; 2] = [Format::Ptx, Format::Fatbin];

/// The linker's type of an image of that format; `None` if it cannot be linked.
fn input_type(format: Format) -> Option<CUjitInputType> {
    use CUjitInputType::*;
    match format {
        Format::Ptx => Some(CU_JIT_INPUT_PTX),
        Format::Cubin => Some(CU_JIT_INPUT_CUBIN),
        Format::Fatbin => Some(CU_JIT_INPUT_FATBINARY),
        _ => None,
    }
}

/// The bytes; text gets the NUL at its end that the driver requires.
fn with_nul(part: &Image) -> Vec<u8> {
    let mut bytes = part.bytes().to_vec();
    if part.format() == Format::Ptx && bytes.last() != Some(&0) {
        bytes.push(0);
    }
    bytes
}

fn load_data(context: &Context, bytes: &[u8], name: &str) -> Result<CUmodule, ImageError> {
    let mut raw = null_mut();
    let mut log = JitLog::new();
    let (count, options, values) = log.options();
    // SAFETY: the function writes the handle. Text ends with a NUL; binaries contain their length,
    // which the driver trusts: the caller that loads an image trusts it as code. The log lives
    // until the function returns.
    let load = || unsafe {
        let image = bytes.as_ptr().cast();
        context
            .cu()
            .cuModuleLoadDataEx(&raw mut raw, image, count, options, values)
    };
    let code = emulated::with_image_name(name, load);
    check(context, "cuModuleLoadDataEx", code, name, &log)?;
    Ok(raw)
}

/// Links the parts and loads the result.
fn link(context: &Context, name: &str, parts: &[Image]) -> Result<CUmodule, ImageError> {
    // Declared before the linker, which writes to the log until it is destroyed.
    let mut log = JitLog::new();
    let (count, options, values) = log.options();
    let mut state = null_mut();
    // SAFETY: the function writes the handle; the log outlives the linker.
    let code = unsafe {
        context
            .cu()
            .cuLinkCreate_v2(count, options, values, &raw mut state)
    };
    check(context, "cuLinkCreate", code, name, &log)?;
    let linker = Linker {
        context,
        raw: state,
    };
    for part in parts {
        let Some(kind) = input_type(part.format()) else {
            unreachable!("`load` has looked at the formats")
        };
        let mut bytes = with_nul(part);
        let part_name = CString::new(part.name()).unwrap_or_default();
        // SAFETY: the linker is alive; the bytes are an image of that kind, of that
        // length; the driver copies them and the name.
        let code = unsafe {
            context.cu().cuLinkAddData_v2(
                linker.raw,
                kind,
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                part_name.as_ptr(),
                0,
                null_mut(),
                null_mut(),
            )
        };
        check(context, "cuLinkAddData", code, part.name(), &log)?;
    }
    let (mut cubin, mut size): (*mut c_void, usize) = (null_mut(), 0);
    // SAFETY: the function writes pointer and size; the linker is alive.
    let code = unsafe {
        context
            .cu()
            .cuLinkComplete(linker.raw, &raw mut cubin, &raw mut size)
    };
    check(context, "cuLinkComplete", code, name, &log)?;
    // SAFETY: the linker's memory of that size, until it is destroyed.
    let linked = unsafe { std::slice::from_raw_parts(cubin.cast::<u8>(), size) };
    load_data(context, linked, name)
}

/// A linker, destroyed when dropped.
struct Linker<'a> {
    context: &'a Context,
    raw: CUlinkState,
}

impl Drop for Linker<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `link`, and no longer used.
        let _ = unsafe { self.context.cu().cuLinkDestroy(self.raw) };
    }
}

fn check(
    context: &Context,
    call: &'static str,
    code: Code,
    name: &str,
    log: &JitLog,
) -> Result<(), ImageError> {
    context.check(call, code).map_err(|error| ImageError::Load {
        name: name.to_owned(),
        reason: match log.text() {
            log if log.is_empty() => error.to_string(),
            log => format!("{error}:\n{log}"),
        },
    })
}
