//! The linker: combines several texts, if no symbol is in two of them.

use std::collections::HashSet;
use std::ffi::{CString, c_void};

use cudarc::driver::sys::CUjitInputType;
use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::driver::with_context;
use crate::image;
use crate::jit::Log;
use crate::pointers::{Out, Text};

const PTX: u32 = CUjitInputType::CU_JIT_INPUT_PTX as u32;
const FATBIN: u32 = CUjitInputType::CU_JIT_INPUT_FATBINARY as u32;

/// The linker's inputs.
pub(crate) struct Linker {
    log: Log,
    texts: String,
    exports: HashSet<String>,
    /// The result.
    linked: Option<CString>,
}

impl Linker {
    fn add(&mut self, name: &str, bytes: &[u8]) -> Answer {
        let Some((0, text)) = bytes.split_last() else {
            return self.fail(name, "it does not end with a zero byte");
        };
        let Some(text) = image::text(text) else {
            return self.fail(name, "no text");
        };
        let parts = match image::read(text) {
            Ok(parts) => parts,
            Err(reason) => return self.fail(name, &reason),
        };
        for part in parts {
            for export in part.kernels.into_keys().chain(part.data) {
                if !self.exports.insert(export.clone()) {
                    let reason = format!("Multiple definition of '{export}'");
                    return self.fail(name, &reason);
                }
            }
        }
        self.texts.push_str(text);
        Ok(())
    }

    fn fail(&self, name: &str, reason: &str) -> Answer {
        self.log.write(&format!("error   : {name}: {reason}"));
        Err(Code::INVALID_PTX)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkCreate_v2(
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
            texts: String::new(),
            exports: HashSet::new(),
            linked: None,
        };
        let handle = handle();
        lock(&context.owned).linkers.insert(handle, made);
        linker.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkAddData_v2(
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
        let mut owned = lock(&context.owned);
        let linker = owned.linkers.get_mut(&linker);
        let linker = linker.ok_or(Code::INVALID_HANDLE)?;
        if !matches!(kind, PTX | FATBIN) || data.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the driver's caller has `size` bytes there.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        linker.add(name.read().unwrap_or("<input>"), bytes)
    })
}

/// The result belongs to the linker.
#[unsafe(no_mangle)]
extern "C" fn cuLinkComplete(linker: u64, image: Out<*const c_void>, size: Out<usize>) -> u32 {
    with_context("cuLinkComplete", |context| {
        let mut owned = lock(&context.owned);
        let linker = owned.linkers.get_mut(&linker);
        let linker = linker.ok_or(Code::INVALID_HANDLE)?;
        if linker.texts.is_empty() || linker.linked.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        let linked = CString::new(linker.texts.as_str()).map_err(|_| Code::INVALID_PTX)?;
        let linked = linker.linked.insert(linked);
        size.set_if_wanted(linked.as_bytes_with_nul().len());
        image.set(linked.as_ptr().cast())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkDestroy(linker: u64) -> u32 {
    with_context("cuLinkDestroy", |context| {
        let destroyed = lock(&context.owned).linkers.remove(&linker);
        destroyed.map(|_| ()).ok_or(Code::INVALID_HANDLE)
    })
}
