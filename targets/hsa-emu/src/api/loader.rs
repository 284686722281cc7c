//! The table of AMD's loader: what is loaded, and where.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use emu_driver::process::lock;
use hsa_runtime_sys::*;

use super::code_object::create_from_part_of_file;
use crate::code::{Loaded, Source};
use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status, from_callback};

/// Functions of the table, in the order of version 1.3.
pub(crate) fn table() -> [*const c_void; 7] {
    [
        hsa_ven_amd_loader_query_host_address as *const c_void,
        hsa_ven_amd_loader_query_segment_descriptors as *const c_void,
        hsa_ven_amd_loader_query_executable as *const c_void,
        hsa_ven_amd_loader_executable_iterate_loaded_code_objects as *const c_void,
        hsa_ven_amd_loader_loaded_code_object_get_info as *const c_void,
        create_from_part_of_file as *const c_void,
        hsa_ven_amd_loader_iterate_executables as *const c_void,
    ]
}

/// Loaded code objects, with the handles of their executables.
fn all(runtime: &Runtime) -> Vec<(u64, Arc<Loaded>)> {
    let executables = lock(&runtime.executables);
    let loaded = executables.values().flat_map(|executable| {
        let loaded = executable.loaded.iter().cloned();
        loaded.map(|loaded| (executable.handle, loaded))
    });
    loaded.collect()
}

impl Loaded {
    /// The offset of an address in it.
    fn offset(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.address)?;
        (offset < self.bytes).then_some(offset)
    }

    /// The place in the file of an address in a segment, if it has one: the host's copy.
    fn host_address(&self, address: u64) -> Option<*const c_void> {
        self.offset(address)?;
        let program = targets::code_object::program::Program::read(&self.code.bytes).ok()?;
        let at = address.wrapping_sub(self.delta);
        let segment = program.segment(at, 1)?;
        let byte = segment.bytes.get((at - segment.address) as usize)?;
        Some((&raw const *byte).cast())
    }
}

extern "C" fn hsa_ven_amd_loader_query_host_address(
    device: *const c_void,
    host: Out<*const c_void>,
) -> hsa_status_t {
    answer("hsa_ven_amd_loader_query_host_address", |runtime| {
        if device.is_null() || host.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let address = device.addr() as u64;
        let loaded = all(runtime);
        let found = loaded
            .iter()
            .find_map(|(_, loaded)| loaded.host_address(address));
        host.set(found.ok_or(Status::INVALID_ARGUMENT)?)
    })
}

/// The segments that are loaded.
fn segments(runtime: &Runtime) -> Vec<hsa_ven_amd_loader_segment_descriptor_t> {
    let all = all(runtime);
    let segments = all.iter().flat_map(|(executable, loaded)| {
        let (kind, base) = storage(loaded);
        loaded.segments.iter().map(move |&(address, bytes)| {
            hsa_ven_amd_loader_segment_descriptor_t {
                agent: loaded.gpu.agent(),
                executable: hsa_executable_t {
                    handle: *executable,
                },
                code_object_storage_type: kind,
                code_object_storage_base: base as *const c_void,
                code_object_storage_size: loaded.code.bytes.len(),
                code_object_storage_offset: 0,
                segment_base: address as *const c_void,
                segment_size: bytes as usize,
            }
        })
    });
    segments.collect()
}

/// Storage of a code object's bytes: kind and address.
fn storage(loaded: &Loaded) -> (hsa_ven_amd_loader_code_object_storage_type_t, usize) {
    match loaded.code.source {
        Source::Memory { address } => (HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY, address),
        Source::File { .. } => (HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE, 0),
    }
}

extern "C" fn hsa_ven_amd_loader_query_segment_descriptors(
    descriptors: Out<hsa_ven_amd_loader_segment_descriptor_t>,
    count: *mut usize,
) -> hsa_status_t {
    answer("hsa_ven_amd_loader_query_segment_descriptors", |runtime| {
        if count.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let all = segments(runtime);
        // SAFETY: not null, so valid by the promise of the C caller.
        let room = unsafe { count.read_unaligned() };
        match (descriptors.is_null(), room) {
            (true, 0) => Out::new(count).set(all.len()),
            (false, room) if room == all.len() => descriptors.set_all(all, room),
            (false, _) => Err(Status::INCOMPATIBLE_ARGUMENTS),
            (true, _) => Err(Status::INVALID_ARGUMENT),
        }
    })
}

extern "C" fn hsa_ven_amd_loader_query_executable(
    device: *const c_void,
    executable: Out<hsa_executable_t>,
) -> hsa_status_t {
    answer("hsa_ven_amd_loader_query_executable", |runtime| {
        let address = device.addr() as u64;
        let all = all(runtime);
        let mut all = all.iter();
        let found = all.find(|(_, loaded)| loaded.offset(address).is_some());
        let &(handle, _) = found.ok_or(Status::INVALID_ARGUMENT)?;
        executable.set(hsa_executable_t { handle })
    })
}

type LoadedCallback =
    unsafe extern "C" fn(hsa_executable_t, hsa_loaded_code_object_t, *mut c_void) -> hsa_status_t;

extern "C" fn hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
    executable: hsa_executable_t,
    callback: Option<LoadedCallback>,
    data: *mut c_void,
) -> hsa_status_t {
    let name = "hsa_ven_amd_loader_executable_iterate_loaded_code_objects";
    answer(name, |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let handles = runtime.with_executable(executable, |executable| {
            let loaded = executable.loaded.iter();
            Ok(loaded.map(|loaded| loaded.handle).collect::<Vec<_>>())
        })?;
        handles.into_iter().try_for_each(|handle| {
            let loaded = hsa_loaded_code_object_t { handle };
            // SAFETY: the program's function takes an executable, a loaded code object and its data.
            from_callback(unsafe { callback(executable, loaded, data) })
        })
    })
}

extern "C" fn hsa_ven_amd_loader_loaded_code_object_get_info(
    loaded: hsa_loaded_code_object_t,
    what: hsa_ven_amd_loader_loaded_code_object_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer(
        "hsa_ven_amd_loader_loaded_code_object_get_info",
        |runtime| {
            let all = all(runtime);
            let mut all = all.iter();
            let found = all.find(|(_, other)| other.handle == loaded.handle);
            let (executable, found) = found.ok_or(Status::INVALID_CODE_OBJECT)?;
            info(*executable, found, what, value)
        },
    )
}

/// The name of a loaded code object's bytes. Source: LLVM, "User Guide for AMDGPU Backend", code object URI.
fn uri(loaded: &Loaded) -> String {
    let (process, len) = (std::process::id(), loaded.code.bytes.len());
    match loaded.code.source {
        Source::Memory { address } => {
            format!("memory://{process}#offset={address:#x}&size={len}")
        }
        Source::File { descriptor } => {
            let link = format!("/proc/self/fd/{descriptor}");
            let path = std::fs::read_link(link).unwrap_or_default();
            format!("file://{}", path.display())
        }
    }
}

fn info(
    executable: u64,
    loaded: &Loaded,
    what: hsa_ven_amd_loader_loaded_code_object_info_t,
    value: Out<c_void>,
) -> Answer {
    let (kind, base) = storage(loaded);
    let uri = uri(loaded);
    match what {
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE => value.of::<u64>().set(executable),
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND => value
            .of::<u32>()
            .set(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT),
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT => {
            value.of::<hsa_agent_t>().set(loaded.gpu.agent())
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE => {
            value.of::<u32>().set(kind)
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE => {
            value.of::<u64>().set(base as u64)
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE => {
            value.of::<u64>().set(loaded.code.bytes.len() as u64)
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE => {
            match loaded.code.source {
                Source::File { descriptor } => value.of::<c_int>().set(descriptor),
                Source::Memory { .. } => Err(Status::INVALID_ARGUMENT),
            }
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA => {
            value.of::<i64>().set(loaded.delta.cast_signed())
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE => {
            value.of::<u64>().set(loaded.address)
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE => value.of::<u64>().set(loaded.bytes),
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH => {
            value.of::<u32>().set(uri.len() as u32)
        }
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI => {
            // No terminating zero.
            let bytes = uri.bytes().map(|byte| byte as c_char);
            value.of::<c_char>().set_all(bytes, uri.len())
        }
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

extern "C" fn hsa_ven_amd_loader_iterate_executables(
    callback: Option<unsafe extern "C" fn(hsa_executable_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_ven_amd_loader_iterate_executables", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let handles: Vec<u64> = lock(&runtime.executables).keys().copied().collect();
        handles.into_iter().try_for_each(|handle| {
            // SAFETY: the program's function takes an executable and its data.
            from_callback(unsafe { callback(hsa_executable_t { handle }, data) })
        })
    })
}
