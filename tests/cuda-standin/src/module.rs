//! Modules: shared objects, found by the texts that represent them.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use host_rt::Image;
use host_rt::device::Global;
use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::with_context;
use crate::image::{self, Part};
use crate::jit::Log;
use crate::pointers::{Out, Text};

/// A loaded image.
pub(crate) struct Module {
    parts: Vec<Loaded>,
}

/// A shared object.
struct Loaded {
    code: Arc<dyn host_rt::device::Module>,
    image: Image,
    text: Part,
    kernels: HashMap<u64, Kernel>,
}

/// A kernel.
#[derive(Clone)]
pub(crate) struct Kernel {
    name: String,
    pub(crate) code: Global,
    /// Sizes of its parameters.
    pub(crate) params: Vec<usize>,
}

impl Loaded {
    fn load(context: &Context, text: Part) -> Result<Self, String> {
        let image = Image::open(&text.path).map_err(|e| e.to_string())?;
        let code = context.device.load(&image).map_err(|e| e.to_string())?;
        let kernels = text.kernels.iter().map(|(name, params)| {
            let kernel = Kernel {
                name: name.clone(),
                code: code
                    .kernel(name)
                    .ok()
                    .flatten()
                    .ok_or(format!("no code `{name}`"))?,
                params: params.clone(),
            };
            Ok((handle(), kernel))
        });
        let kernels = kernels.collect::<Result<_, String>>()?;
        Ok(Self {
            code,
            image,
            text,
            kernels,
        })
    }

    /// The offset of addresses in the image.
    fn base(&self) -> Option<u64> {
        let mut symbols = self.image.symbols().iter();
        symbols.find_map(|symbol| {
            let global = self.code.global(&symbol.name).ok()??;
            Some(global.address.0.wrapping_sub(symbol.address))
        })
    }
}

impl Module {
    /// Starts and sizes of the loaded parts; only writable ones if `write`.
    pub(crate) fn segments(&self, write: bool) -> impl Iterator<Item = (u64, u64)> {
        self.parts.iter().flat_map(move |part| {
            let base = part.base();
            let segments = part.image.segments().iter();
            segments
                .filter(move |segment| segment.writable || !write)
                .filter_map(move |segment| {
                    Some((base?.wrapping_add(segment.address), segment.size))
                })
        })
    }

    pub(crate) fn kernel(
        &self,
        handle: u64,
    ) -> Option<(&Arc<dyn host_rt::device::Module>, &Kernel)> {
        let mut parts = self.parts.iter();
        parts.find_map(|part| Some((&part.code, part.kernels.get(&handle)?)))
    }
}

impl Context {
    fn module(&self, module: u64) -> Answer<Arc<Module>> {
        let found = lock(&self.owned).modules.get(&module).cloned();
        found.ok_or(Code::INVALID_HANDLE)
    }
}

/// The text at `image`, if it is one for the stand-in.
///
/// # Safety
/// `image` is null or points to a C string, or to an image that has a zero byte.
unsafe fn text_at<'a>(image: *const c_char) -> Answer<&'a str> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises a terminating zero byte.
    let bytes = unsafe { CStr::from_ptr(image) };
    if bytes.to_bytes().starts_with(b"\x7fELF") {
        return Err(Code::NO_BINARY_FOR_GPU);
    }
    let text = image::text(bytes.to_bytes()).ok_or(Code::INVALID_IMAGE)?;
    let is_ptx = text.contains(".version");
    is_ptx.then_some(text).ok_or(Code::INVALID_IMAGE)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadDataEx(
    module: Out<u64>,
    image: *const c_void,
    count: u32,
    options: *const u32,
    values: *mut *mut c_void,
) -> u32 {
    with_context("cuModuleLoadDataEx", |context| {
        // SAFETY: the driver's caller promises `count` options, and keeps the log while the
        // function runs.
        let log = unsafe { Log::of(count, options, values) };
        // SAFETY: images are PTX with its zero byte, or the result of `cuLinkComplete`, which has
        // one; other kinds, which are rejected, have many.
        let text = unsafe { text_at(image.cast())? };
        let failed = |reason: String| {
            log.write(&format!("stand-in: {reason}"));
            Code::INVALID_PTX
        };
        let parts = image::read(text).map_err(failed)?.into_iter();
        let parts = parts.map(|part| Loaded::load(context, part));
        let parts = parts.collect::<Result<_, _>>().map_err(failed)?;
        let handle = handle();
        let loaded = Arc::new(Module { parts });
        lock(&context.owned).modules.insert(handle, loaded);
        module.set(handle)
    })
}

/// May wait for all work in the context.
#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: u64) -> u32 {
    with_context("cuModuleUnload", |context| {
        let unloaded = lock(&context.owned).modules.remove(&module);
        let _held = unloaded.ok_or(Code::INVALID_HANDLE)?;
        context.perhaps_wait()
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(function: Out<u64>, module: u64, name: Text) -> u32 {
    with_context("cuModuleGetFunction", |context| {
        let (module, name) = (context.module(module)?, name.read()?);
        let mut kernels = module.parts.iter().flat_map(|part| &part.kernels);
        let found = kernels.find(|(_, kernel)| kernel.name == name);
        function.set(*found.ok_or(Code::NOT_FOUND)?.0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetGlobal_v2(
    address: Out<u64>,
    bytes: Out<usize>,
    module: u64,
    name: Text,
) -> u32 {
    with_context("cuModuleGetGlobal_v2", |context| {
        let (module, name) = (context.module(module)?, name.read()?);
        let mut parts = module.parts.iter();
        let found = parts.find_map(|part| {
            let is_there = part.text.data.iter().any(|data| data == name);
            is_there.then(|| part.code.global(name).ok().flatten())?
        });
        let global = found.ok_or(Code::NOT_FOUND)?;
        address.set_if_wanted(global.address.0);
        bytes.set_if_wanted(global.size as usize);
        Ok(())
    })
}
