//! The linker: combines several texts.

use std::ffi::c_void;

use cudarc::driver::sys::CUjitInputType;
use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::driver::with_context;
use crate::image::{NoPtx, Part, linked, parts_of};
use crate::jit::Log;
use crate::pointers::{Out, Text};
use crate::state::Context;
use crate::state::linker::Linker;

const CUBIN: u32 = CUjitInputType::CU_JIT_INPUT_CUBIN as u32;
const PTX: u32 = CUjitInputType::CU_JIT_INPUT_PTX as u32;
const FATBIN: u32 = CUjitInputType::CU_JIT_INPUT_FATBINARY as u32;

pub extern "C" fn cuLinkCreate_v2(
    count: u32,
    options: *const u32,
    values: *mut *mut c_void,
    linker: Out<u64>,
) -> u32 {
    with_context("cuLinkCreate_v2", |context| {
        // SAFETY: the driver's caller promises `count` options, and keeps the log until it destroys
        // the linker.
        let log = unsafe { Log::of(count, options, values) };
        let made = Linker {
            log,
            parts: Vec::new(),
            linked: None,
        };
        let handle = handle();
        linker.set(handle)?;
        lock(&context.owned).linkers.insert(handle, made);
        Ok(())
    })
}

fn add(context: &Context, linker: u64, kind: u32, name: &str, bytes: &[u8]) -> Answer {
    let mut owned = lock(&context.owned);
    let linker = owned.linkers.get_mut(&linker).ok_or(Code::INVALID_HANDLE)?;
    if !matches!(kind, CUBIN | PTX | FATBIN) || linker.linked.is_some() {
        return Err(Code::INVALID_VALUE);
    }
    let parts = linker.say(parts_of(context.gpu.sm(), name, bytes))?;
    // Texts are checked where they are added, so that the error is that of one input.
    let invalid = parts
        .iter()
        .find_map(|Part { name, text }| ptx_emu::check(name, text).err());
    if let Some(invalid) = invalid {
        return linker.say(Err(NoPtx::new(Code::INVALID_PTX, invalid.to_string())));
    }
    linker.parts.extend(parts);
    Ok(())
}

pub extern "C" fn cuLinkAddData_v2(
    linker: u64,
    kind: u32,
    data: *const c_void,
    size: usize,
    name: Text,
    _count: u32,
    _options: *const u32,
    _values: *mut *mut c_void,
) -> u32 {
    with_context("cuLinkAddData_v2", |context| {
        if data.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the driver's caller has `size` bytes there.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        add(
            context,
            linker,
            kind,
            name.read().unwrap_or("<input>"),
            bytes,
        )
    })
}

pub extern "C" fn cuLinkAddFile_v2(
    linker: u64,
    kind: u32,
    file: Text,
    _count: u32,
    _options: *const u32,
    _values: *mut *mut c_void,
) -> u32 {
    with_context("cuLinkAddFile_v2", |context| {
        let name = file.read()?;
        let bytes = std::fs::read(name).map_err(|_| Code::FILE_NOT_FOUND)?;
        add(context, linker, kind, name, &bytes)
    })
}

/// The result belongs to the linker.
pub extern "C" fn cuLinkComplete(linker: u64, image: Out<*const c_void>, size: Out<usize>) -> u32 {
    with_context("cuLinkComplete", |context| {
        image.check()?;
        let mut owned = lock(&context.owned);
        let linker = owned.linkers.get_mut(&linker).ok_or(Code::INVALID_HANDLE)?;
        if linker.parts.is_empty() || linker.linked.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        // Symbols that are missing or defined twice are reported here, not when the result is loaded.
        linker.say(context.load(&linker.parts).map(drop))?;
        let linked = linker.linked.insert(linked(&linker.parts));
        size.set_if_wanted(linked.len());
        image.set(linked.as_ptr().cast())
    })
}

pub extern "C" fn cuLinkDestroy(linker: u64) -> u32 {
    with_context("cuLinkDestroy", |context| {
        let destroyed = lock(&context.owned).linkers.remove(&linker);
        destroyed.map(|_| ()).ok_or(Code::INVALID_HANDLE)
    })
}
