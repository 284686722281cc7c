//! Functions of HSA 1.0, which GCC's own plugin for AMD GPUs calls where host-rt calls newer ones.
//! With them that plugin runs on the stand-in, too, and can be compared with ours.
//!
//! Source: "HSA Runtime Programmer's Reference Manual", version 1.0.

use std::ffi::{CStr, c_char, c_void};
use std::slice::from_raw_parts;

use emu_driver::process::{handle, lock};
use hsa_runtime_sys::*;

use crate::agent::{CPU, gpu_agent};
use crate::code::{find, hsa_executable_create_alt, load};
use crate::memory::hsa_amd_memory_pool_free;
use crate::pool::Owner;
use crate::queue::{hsa_queue_add_write_index_relaxed, hsa_queue_load_read_index_scacquire};
use crate::signal::{
    hsa_signal_load_scacquire, hsa_signal_store_screlease, hsa_signal_wait_scacquire,
};
use crate::state::{Answer, State, answer};

/// Handles of regions, which belong to an agent: the host's memory for arguments, and a GPU's own.
const KERNARG: u64 = 0x4e60_1000;
const OF_GPU: u64 = 0x4e60_2000;

/// Properties of a region.
const SEGMENT: u32 = 0;
const GLOBAL_FLAGS: u32 = 1;
const SIZE: u32 = 2;
const ALLOC_MAX_SIZE: u32 = 4;
const RUNTIME_ALLOC_ALLOWED: u32 = 5;
const GRANULE: u32 = 6;
const ALIGNMENT: u32 = 7;

/// Flags of a region: for arguments and fine-grained, or coarse-grained.
const KERNARG_FLAGS: u32 = 1 | 2;
const COARSE: u32 = 4;

/// The owner of a region.
fn owner(state: &State, region: u64) -> Answer<Owner> {
    let gpus = state.gpus.len() as u64;
    match region {
        _ if (KERNARG..KERNARG + gpus).contains(&region) => Ok(Owner::Cpu),
        _ if (OF_GPU..OF_GPU + gpus).contains(&region) => {
            Ok(Owner::Gpu((region - OF_GPU) as usize))
        }
        _ => Err(HSA_STATUS_ERROR_INVALID_REGION),
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_agent_iterate_regions(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(u64, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_agent_iterate_regions", |state| {
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let regions = match agent.handle {
            CPU => Vec::new(),
            _ => {
                let number = state.gpu(agent)? as u64;
                vec![KERNARG + number, OF_GPU + number]
            }
        };
        for region in regions {
            // SAFETY: the caller's function takes its data and a region.
            match unsafe { callback(region, data) } {
                HSA_STATUS_SUCCESS => {}
                // The callback has found what it was looking for.
                HSA_STATUS_INFO_BREAK => return Ok(()),
                status => return Err(status),
            }
        }
        Ok(())
    })
}

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_region_get_info(
    region: u64,
    what: u32,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_region_get_info", |state| {
        let flags = match owner(state, region)? {
            Owner::Cpu => KERNARG_FLAGS,
            Owner::Gpu(_) => COARSE,
        };
        // SAFETY: the caller's promise, with the type that the manual documents.
        unsafe {
            match what {
                SEGMENT => value.cast::<u32>().write(HSA_AMD_SEGMENT_GLOBAL),
                GLOBAL_FLAGS => value.cast::<u32>().write(flags),
                SIZE | ALLOC_MAX_SIZE => value.cast::<usize>().write(1 << 40),
                RUNTIME_ALLOC_ALLOWED => value.cast::<bool>().write(true),
                GRANULE | ALIGNMENT => value.cast::<usize>().write(4096),
                _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
        Ok(())
    })
}

/// # Safety
/// `memory` is valid for a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_memory_allocate(
    region: u64,
    size: usize,
    memory: *mut *mut c_void,
) -> hsa_status_t {
    answer("hsa_memory_allocate", |state| {
        let owner = owner(state, region)?;
        if size == 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let all = (0..state.gpus.len()).map(|number| gpu_agent(number).handle);
        let address = state.allocate(owner, size, all.collect())?;
        // SAFETY: the caller's promise.
        unsafe { memory.write(address.cast()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_memory_free(memory: *mut c_void) -> hsa_status_t {
    hsa_amd_memory_pool_free(memory)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_memory_assign_agent(_: *mut c_void, agent: hsa_agent_t, _: u32) -> hsa_status_t {
    answer("hsa_memory_assign_agent", |state| {
        state.gpu(agent).map(drop)
    })
}

/// One side is memory that ROCr knows; the other may be any host memory, without a check for a
/// GPU's access: ROCr itself copies it there.
///
/// # Safety
/// A side that is neither allocated nor of an image is valid for `size` bytes, and the copied bytes
/// are not used otherwise.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_memory_copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> hsa_status_t {
    answer("hsa_memory_copy", |state| {
        let rooms = [to.addr(), from.addr()].map(|address| state.room_at(address as u64));
        let is_known = rooms.iter().any(Option::is_some);
        let has_room = rooms.iter().flatten().all(|&room| size as u64 <= room);
        if !is_known || !has_room {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: known memory has room, and addresses of a GPU's memory are addresses here; the
        // caller promises the rest.
        unsafe { to.cast::<u8>().copy_from(from.cast(), size) };
        Ok(())
    })
}

/// # Safety
/// As for `hsa_executable_create_alt`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_executable_create(
    profile: hsa_profile_t,
    _state: u32,
    options: *const c_char,
    executable: *mut hsa_executable_t,
) -> hsa_status_t {
    // SAFETY: the caller's promise.
    unsafe { hsa_executable_create_alt(profile, 0, options, executable) }
}

/// # Safety
/// There are `size` bytes, and `object` is valid for a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_code_object_deserialize(
    bytes: *const c_void,
    size: usize,
    _options: *const c_char,
    object: *mut u64,
) -> hsa_status_t {
    answer("hsa_code_object_deserialize", |state| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { from_raw_parts(bytes.cast::<u8>(), size) };
        let handle = handle();
        lock(&state.readers).insert(handle, bytes.to_vec());
        // SAFETY: the caller's promise.
        unsafe { object.write(handle) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_load_code_object(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    object: u64,
    _options: *const c_char,
) -> hsa_status_t {
    answer("hsa_executable_load_code_object", |state| {
        let bytes = lock(&state.readers).get(&object).cloned();
        let bytes = bytes.ok_or(HSA_STATUS_ERROR_INVALID_CODE_OBJECT)?;
        load(state, executable, agent, &bytes)
    })
}

/// # Safety
/// `name` is a C string, and `symbol` valid for a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_executable_get_symbol(
    executable: hsa_executable_t,
    _module: *const c_char,
    name: *const c_char,
    agent: hsa_agent_t,
    _convention: i32,
    symbol: *mut hsa_executable_symbol_t,
) -> hsa_status_t {
    answer("hsa_executable_get_symbol", |state| {
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) };
        let handle = find(state, executable, name, agent)?;
        // SAFETY: the caller's promise.
        unsafe { symbol.write(hsa_executable_symbol_t { handle }) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_load_acquire(signal: hsa_signal_t) -> i64 {
    hsa_signal_load_scacquire(signal)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_store_release(signal: hsa_signal_t, value: i64) {
    hsa_signal_store_screlease(signal, value);
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_wait_acquire(
    signal: hsa_signal_t,
    condition: hsa_signal_condition_t,
    other: i64,
    nanoseconds: u64,
    how: hsa_wait_state_t,
) -> i64 {
    hsa_signal_wait_scacquire(signal, condition, other, nanoseconds, how)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_add_write_index_release(queue: *const hsa_queue_t, count: u64) -> u64 {
    // The packet is published by its header; the index only assigns the position.
    hsa_queue_add_write_index_relaxed(queue, count)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_load_read_index_acquire(queue: *const hsa_queue_t) -> u64 {
    hsa_queue_load_read_index_scacquire(queue)
}

/// Functions that GCC's plugin looks up and calls for features that do not exist here.
macro_rules! only_there {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> hsa_status_t {
            answer(stringify!($name), |_| Err(HSA_STATUS_ERROR))
        }
    )*};
}

only_there! {
    hsa_executable_iterate_symbols
    hsa_executable_global_variable_define
    hsa_amd_memory_lock
    hsa_amd_memory_unlock
    hsa_amd_memory_async_copy_rect
}
