//! Modules.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, LazyLock, Mutex};

use emu_driver::process::lock;

use crate::code::{Answer, Code};
use crate::driver::{with_context, with_driver, with_owner};
use crate::image::{self, NoPtx, Part, parts_at};
use crate::jit::Log;
use crate::pointers::{Out, Text};
use crate::state::Context;
use crate::state::module::Module;

/// Loads an image into a module of the caller's.
///
/// # Safety
/// As for [`parts_at`]; there are `count` options and values as documented.
unsafe fn load(
    context: &Context,
    module: Out<u64>,
    image: *const c_void,
    (count, options, values): (u32, *const u32, *mut *mut c_void),
) -> Answer {
    // SAFETY: the caller's promise; the log is used only while the function runs.
    let log = unsafe { Log::of(count, options, values) };
    // SAFETY: the caller's promise.
    let parts = unsafe { parts_at(context.gpu.sm(), image) };
    add(context, module, parts, &log)
}

fn add(context: &Context, module: Out<u64>, parts: Result<Vec<Part>, NoPtx>, log: &Log) -> Answer {
    let loaded = parts.and_then(|parts| context.load(&parts));
    let loaded = image::code(loaded, |reason| {
        tracing::warn!(reason, "an image was not loaded");
        log.write(reason);
    })?;
    module.set(loaded.handle)?;
    lock(&context.owned)
        .modules
        .insert(loaded.handle, Arc::new(loaded));
    Ok(())
}

pub extern "C" fn cuModuleLoadDataEx(
    module: Out<u64>,
    image: *const c_void,
    count: u32,
    options: *const u32,
    values: *mut *mut c_void,
) -> u32 {
    with_context("cuModuleLoadDataEx", |context| {
        // SAFETY: the driver's caller promises an image and `count` options.
        unsafe { load(context, module, image, (count, options, values)) }
    })
}

pub extern "C" fn cuModuleLoadData(module: Out<u64>, image: *const c_void) -> u32 {
    with_context("cuModuleLoadData", |context| {
        // SAFETY: the driver's caller promises an image; there are no options.
        unsafe { load(context, module, image, NO_OPTIONS) }
    })
}

/// No options for compiler and linker.
pub(crate) const NO_OPTIONS: (u32, *const u32, *mut *mut c_void) =
    (0, std::ptr::null(), std::ptr::null_mut());

pub extern "C" fn cuModuleLoadFatBinary(module: Out<u64>, image: *const c_void) -> u32 {
    with_context("cuModuleLoadFatBinary", |context| {
        // SAFETY: the driver's caller promises an image; there are no options.
        unsafe { load(context, module, image, NO_OPTIONS) }
    })
}

pub extern "C" fn cuModuleLoad(module: Out<u64>, file: Text) -> u32 {
    with_context("cuModuleLoad", |context| {
        let name = file.read()?;
        let bytes = std::fs::read(name).map_err(|_| Code::FILE_NOT_FOUND)?;
        let parts = image::parts_of(context.gpu.sm(), name, &bytes);
        add(context, module, parts, &Log::none())
    })
}

/// May wait for all work in the context.
pub extern "C" fn cuModuleUnload(module: u64) -> u32 {
    let is_owner = |context: &Context| lock(&context.owned).modules.contains_key(&module);
    with_owner("cuModuleUnload", is_owner, |context| {
        let unloaded = lock(&context.owned).modules.remove(&module);
        let _held = unloaded.ok_or(Code::INVALID_HANDLE)?;
        context.perhaps_wait()
    })
}

pub extern "C" fn cuModuleGetFunction(function: Out<u64>, module: u64, name: Text) -> u32 {
    with_context("cuModuleGetFunction", |context| {
        let module = context.module(module)?;
        function.set(module.function(name.read()?)?)
    })
}

pub extern "C" fn cuModuleGetFunctionCount(count: Out<u32>, module: u64) -> u32 {
    with_context("cuModuleGetFunctionCount", |context| {
        count.set(context.module(module)?.kernels().count() as u32)
    })
}

pub extern "C" fn cuModuleEnumerateFunctions(functions: Out<u64>, room: u32, module: u64) -> u32 {
    with_context("cuModuleEnumerateFunctions", |context| {
        functions.set_all(context.module(module)?.kernels(), room as usize)
    })
}

/// Everything is loaded at once.
pub extern "C" fn cuModuleGetLoadingMode(mode: Out<u32>) -> u32 {
    with_driver("cuModuleGetLoadingMode", |_| mode.set(1))
}

pub extern "C" fn cuFuncGetModule(module: Out<u64>, function: u64) -> u32 {
    with_context("cuFuncGetModule", |context| {
        module.set(context.function(function)?.0.module)
    })
}

/// Writes where a variable is.
pub(crate) fn variable(
    module: &Module,
    address: Out<u64>,
    bytes: Out<usize>,
    name: &Text,
) -> Answer {
    let global = module.code.global(name.read()?).ok_or(Code::NOT_FOUND)?;
    address.set_if_wanted(global.address);
    bytes.set_if_wanted(global.bytes as usize);
    Ok(())
}

pub extern "C" fn cuModuleGetGlobal_v2(
    address: Out<u64>,
    bytes: Out<usize>,
    module: u64,
    name: Text,
) -> u32 {
    with_context("cuModuleGetGlobal_v2", |context| {
        variable(&*context.module(module)?, address, bytes, &name)
    })
}

/// The name is the driver's until the module is unloaded; here it stays for ever.
pub extern "C" fn cuFuncGetName(name: Out<*const c_char>, function: u64) -> u32 {
    with_context("cuFuncGetName", |context| {
        let (function, _) = context.function(function)?;
        name.set(kept(&function.name))
    })
}

/// A C string that stays.
pub(crate) fn kept(text: &str) -> *const c_char {
    static KEPT: LazyLock<Mutex<HashMap<String, CString>>> = LazyLock::new(Mutex::default);
    let mut kept = lock(&KEPT);
    let string = kept
        .entry(text.to_owned())
        .or_insert_with(|| CString::new(text).unwrap_or_default());
    string.as_ptr()
}
