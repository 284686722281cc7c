//! Bytes of code objects: readers, and the code objects of HSA 1.0.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use emu_driver::process::{handle, lock};
use hsa_runtime_sys::*;
use targets::code_object::program::Program;

use crate::code::{CodeObject, Source};
use crate::pointers::{In, Out};
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

/// The most bytes of a file: more than any compiler writes.
const MAX_BYTES: u64 = 4 << 30;

/// Adds a code object; returns its handle.
fn add(runtime: &Runtime, bytes: Vec<u8>, source: Source) -> u64 {
    let handle = handle();
    let code = CodeObject {
        bytes: bytes.into(),
        source,
    };
    lock(&runtime.readers).insert(handle, code);
    handle
}

/// The code object with a handle.
pub(crate) fn find(runtime: &Runtime, handle: u64) -> Option<CodeObject> {
    lock(&runtime.readers).get(&handle).cloned()
}

/// The bytes at an address.
fn at(bytes: *const c_void, len: usize) -> Answer<(Vec<u8>, Source)> {
    if bytes.is_null() || len == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let address = bytes.expose_provenance();
    // SAFETY: not null, so there are that many by the promise of the C caller.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), len) };
    Ok((bytes.to_vec(), Source::Memory { address }))
}

pub extern "C" fn hsa_code_object_reader_create_from_memory(
    bytes: *const c_void,
    len: usize,
    reader: Out<hsa_code_object_reader_t>,
) -> hsa_status_t {
    answer("hsa_code_object_reader_create_from_memory", |runtime| {
        let (bytes, source) = at(bytes, len)?;
        if reader.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handle = add(runtime, bytes, source);
        reader.set(hsa_code_object_reader_t { handle })
    })
}

/// Bytes of an open file, which stays open: `len` from an offset, or all.
fn read(descriptor: c_int, offset: u64, len: Option<u64>) -> Answer<Vec<u8>> {
    if descriptor < 0 {
        return Err(Status::INVALID_FILE);
    }
    // SAFETY: the descriptor is the program's, which keeps it: it is not closed here. One that is not open gives
    // errors.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| {
        let wanted = len.unwrap_or(MAX_BYTES).min(MAX_BYTES);
        Read::by_ref(&mut *file)
            .take(wanted)
            .read_to_end(&mut bytes)
    });
    let read = read.map_err(|_| Status::INVALID_FILE)? as u64;
    let is_all = read > 0 && len.is_none_or(|len| len == read);
    is_all.then_some(bytes).ok_or(Status::INVALID_FILE)
}

pub extern "C" fn hsa_code_object_reader_create_from_file(
    descriptor: c_int,
    reader: Out<hsa_code_object_reader_t>,
) -> hsa_status_t {
    answer("hsa_code_object_reader_create_from_file", |runtime| {
        let bytes = read(descriptor, 0, None)?;
        let handle = add(runtime, bytes, Source::File { descriptor });
        reader.set(hsa_code_object_reader_t { handle })
    })
}

/// A function of the loader's table.
pub(crate) extern "C" fn create_from_part_of_file(
    descriptor: c_int,
    offset: usize,
    len: usize,
    reader: Out<hsa_code_object_reader_t>,
) -> hsa_status_t {
    answer(
        "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
        |runtime| {
            if len == 0 {
                return Err(Status::INVALID_ARGUMENT);
            }
            let bytes = read(descriptor, offset as u64, Some(len as u64))?;
            let handle = add(runtime, bytes, Source::File { descriptor });
            reader.set(hsa_code_object_reader_t { handle })
        },
    )
}

pub extern "C" fn hsa_code_object_reader_destroy(reader: hsa_code_object_reader_t) -> hsa_status_t {
    answer("hsa_code_object_reader_destroy", |runtime| {
        let destroyed = lock(&runtime.readers).remove(&reader.handle);
        destroyed
            .map(drop)
            .ok_or(Status::INVALID_CODE_OBJECT_READER)
    })
}

pub extern "C" fn hsa_code_object_deserialize(
    bytes: *mut c_void,
    len: usize,
    _options: In<u8>,
    code: Out<hsa_code_object_t>,
) -> hsa_status_t {
    answer("hsa_code_object_deserialize", |runtime| {
        let (bytes, source) = at(bytes, len)?;
        if code.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handle = add(runtime, bytes, source);
        code.set(hsa_code_object_t { handle })
    })
}

pub extern "C" fn hsa_code_object_destroy(code: hsa_code_object_t) -> hsa_status_t {
    answer("hsa_code_object_destroy", |runtime| {
        let destroyed = lock(&runtime.readers).remove(&code.handle);
        destroyed.map(drop).ok_or(Status::INVALID_CODE_OBJECT)
    })
}

pub extern "C" fn hsa_code_object_get_info(
    code: hsa_code_object_t,
    what: hsa_code_object_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_code_object_get_info", |runtime| {
        let code = find(runtime, code.handle).ok_or(Status::INVALID_CODE_OBJECT)?;
        match what {
            HSA_CODE_OBJECT_INFO_TYPE => value.of::<u32>().set(HSA_CODE_OBJECT_TYPE_PROGRAM),
            HSA_CODE_OBJECT_INFO_ISA => {
                let program = Program::read(&code.bytes);
                let target = program.map_err(|_| Status::INVALID_CODE_OBJECT)?.target;
                let gpus = runtime.gpus();
                let gpu = gpus
                    .iter()
                    .find(|gpu| target.runs_on(&gpu.target).is_some());
                let gpu = gpu.ok_or(Status::INVALID_ISA)?;
                value.of::<hsa_isa_t>().set(super::isa::handle(gpu))
            }
            HSA_CODE_OBJECT_INFO_MACHINE_MODEL => value.of::<u32>().set(HSA_MACHINE_MODEL_LARGE),
            HSA_CODE_OBJECT_INFO_PROFILE => value.of::<u32>().set(HSA_PROFILE_FULL),
            HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE => {
                value.of::<u32>().set(HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
            }
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}
