//! Libraries: images that are loaded into each context where they are used.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, LazyLock, Mutex};

use emu_driver::process::{handle, lock};

use crate::api::module::{kept, variable};
use crate::code::{Answer, Code};
use crate::driver::{contexts, current_context, with_context, with_driver};
use crate::image::{self, Part, parts_at, parts_of};
use crate::jit::Log;
use crate::pointers::{Out, Text};
use crate::state::Context;
use crate::state::module::Module;

/// A library.
struct Library {
    parts: Vec<Part>,
    /// Handles of its kernels, by their names.
    kernels: HashMap<String, u64>,
}

/// A kernel of a library, which is a function in each context.
#[derive(Clone)]
pub(crate) struct LibraryKernel {
    /// Its library.
    of: u64,
    name: Arc<str>,
}

#[derive(Default)]
struct All {
    libraries: HashMap<u64, Library>,
    kernels: HashMap<u64, LibraryKernel>,
}

static ALL: LazyLock<Mutex<All>> = LazyLock::new(Mutex::default);

/// The function of a handle that is one, or that is a library's kernel.
pub(crate) fn function_of(context: &Context, handle: u64) -> Answer<u64> {
    let kernel = lock(&ALL).kernels.get(&handle).cloned();
    match kernel {
        Some(kernel) => module(context, kernel.of)?.function(&kernel.name),
        None => Ok(handle),
    }
}

/// The module of a library in a context.
fn module(context: &Context, library: u64) -> Answer<Arc<Module>> {
    if let Some(module) = lock(&context.owned).libraries.get(&library) {
        return Ok(Arc::clone(module));
    }
    let parts = {
        let all = lock(&ALL);
        let found = all.libraries.get(&library).ok_or(Code::INVALID_HANDLE)?;
        found.parts.clone()
    };
    let loaded = Arc::new(image::code(context.load(&parts), report)?);
    let mut owned = lock(&context.owned);
    Ok(Arc::clone(owned.libraries.entry(library).or_insert(loaded)))
}

fn report(reason: &str) {
    tracing::warn!(reason, "a library was not loaded");
}

/// Registers a library, which is loaded into the current context to see whether it can be.
fn add(context: &Context, library: Out<u64>, parts: Vec<Part>) -> Answer {
    let made = handle();
    library.set(made)?;
    let new = Library {
        parts,
        kernels: HashMap::new(),
    };
    lock(&ALL).libraries.insert(made, new);
    let loaded = module(context, made);
    let mut all = lock(&ALL);
    let loaded = loaded.inspect_err(|_| drop(all.libraries.remove(&made)))?;
    let names: Vec<String> = loaded
        .code
        .kernels()
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in names {
        let kernel = handle();
        let of = LibraryKernel {
            of: made,
            name: name.as_str().into(),
        };
        all.kernels.insert(kernel, of);
        if let Some(library) = all.libraries.get_mut(&made) {
            library.kernels.insert(name, kernel);
        }
    }
    Ok(())
}

pub extern "C" fn cuLibraryLoadData(
    library: Out<u64>,
    image: *const c_void,
    options: *const u32,
    values: *mut *mut c_void,
    count: u32,
    _library_options: *const u32,
    _library_values: *mut *mut c_void,
    _library_count: u32,
) -> u32 {
    with_context("cuLibraryLoadData", |context| {
        // SAFETY: the driver's caller promises `count` options; the log is used only here.
        let log = unsafe { Log::of(count, options, values) };
        // SAFETY: the driver's caller promises an image.
        let parts = unsafe { parts_at(context.gpu.sm(), image) };
        let parts = image::code(parts, |reason| {
            report(reason);
            log.write(reason);
        })?;
        add(context, library, parts)
    })
}

pub extern "C" fn cuLibraryLoadFromFile(
    library: Out<u64>,
    file: Text,
    _options: *const u32,
    _values: *mut *mut c_void,
    _count: u32,
    _library_options: *const u32,
    _library_values: *mut *mut c_void,
    _library_count: u32,
) -> u32 {
    with_context("cuLibraryLoadFromFile", |context| {
        let name = file.read()?;
        let bytes = std::fs::read(name).map_err(|_| Code::FILE_NOT_FOUND)?;
        let parts = image::code(parts_of(context.gpu.sm(), name, &bytes), report)?;
        add(context, library, parts)
    })
}

pub extern "C" fn cuLibraryUnload(library: u64) -> u32 {
    with_driver("cuLibraryUnload", |_| {
        let mut all = lock(&ALL);
        all.libraries.remove(&library).ok_or(Code::INVALID_HANDLE)?;
        all.kernels.retain(|_, kernel| kernel.of != library);
        drop(all);
        for context in contexts() {
            let module = lock(&context.owned).libraries.remove(&library);
            drop(module);
        }
        Ok(())
    })
}

pub extern "C" fn cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text) -> u32 {
    with_driver("cuLibraryGetKernel", |_| {
        let all = lock(&ALL);
        let library = all.libraries.get(&library).ok_or(Code::INVALID_HANDLE)?;
        let found = library.kernels.get(name.read()?).ok_or(Code::NOT_FOUND)?;
        kernel.set(*found)
    })
}

pub extern "C" fn cuLibraryGetKernelCount(count: Out<u32>, library: u64) -> u32 {
    with_driver("cuLibraryGetKernelCount", |_| {
        let all = lock(&ALL);
        let library = all.libraries.get(&library).ok_or(Code::INVALID_HANDLE)?;
        count.set(library.kernels.len() as u32)
    })
}

pub extern "C" fn cuLibraryEnumerateKernels(kernels: Out<u64>, room: u32, library: u64) -> u32 {
    with_driver("cuLibraryEnumerateKernels", |_| {
        let all = lock(&ALL);
        let library = all.libraries.get(&library).ok_or(Code::INVALID_HANDLE)?;
        kernels.set_all(library.kernels.values().copied(), room as usize)
    })
}

pub extern "C" fn cuLibraryGetModule(of: Out<u64>, library: u64) -> u32 {
    with_context("cuLibraryGetModule", |context| {
        of.set(module(context, library)?.handle)
    })
}

pub extern "C" fn cuLibraryGetGlobal(
    address: Out<u64>,
    bytes: Out<usize>,
    library: u64,
    name: Text,
) -> u32 {
    with_context("cuLibraryGetGlobal", |context| {
        variable(&*module(context, library)?, address, bytes, &name)
    })
}

fn kernel_at(kernel: u64) -> Answer<LibraryKernel> {
    lock(&ALL)
        .kernels
        .get(&kernel)
        .cloned()
        .ok_or(Code::INVALID_HANDLE)
}

pub extern "C" fn cuKernelGetFunction(function: Out<u64>, kernel: u64) -> u32 {
    with_context("cuKernelGetFunction", |context| {
        let kernel = kernel_at(kernel)?;
        function.set(module(context, kernel.of)?.function(&kernel.name)?)
    })
}

pub extern "C" fn cuKernelGetLibrary(library: Out<u64>, kernel: u64) -> u32 {
    with_driver("cuKernelGetLibrary", |_| library.set(kernel_at(kernel)?.of))
}

pub extern "C" fn cuKernelGetName(name: Out<*const c_char>, kernel: u64) -> u32 {
    with_driver("cuKernelGetName", |_| {
        name.set(kept(&kernel_at(kernel)?.name))
    })
}

/// The function of a library's kernel in the current context, for attributes.
pub(crate) fn current_function(kernel: u64) -> Answer<(Arc<Context>, u64)> {
    let context = current_context()?;
    let kernel = kernel_at(kernel)?;
    let function = module(&context, kernel.of)?.function(&kernel.name)?;
    Ok((context, function))
}
