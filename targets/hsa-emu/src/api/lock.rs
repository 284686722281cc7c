//! Memory of the host's own that GPUs use.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use super::agent::gpus_of;
use super::pool::Pool;
use crate::memory::Gpus;
use crate::pointers::{In, Out};
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

fn lock(
    runtime: &Runtime,
    (host, bytes): (*mut c_void, usize),
    (agents, count): (In<hsa_agent_t>, i32),
    flags: u32,
    address: Out<*mut c_void>,
) -> Answer {
    let count = usize::try_from(count).map_err(|_| Status::INVALID_ARGUMENT)?;
    if host.is_null() || bytes == 0 || address.is_null() || agents.is_null() != (count == 0) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let gpus = match count {
        0 => Gpus::ALL,
        count => gpus_of(runtime, &agents.all(count)?)?,
    };
    let start = host.expose_provenance() as u64;
    // Memory of a pool, or of a GPU, is not the host's own.
    if start.checked_add(bytes as u64).is_none() || runtime.memory.is_ours(start) {
        return Err(Status::INVALID_ARGUMENT);
    }
    runtime.memory.lock(start, bytes as u64, flags, gpus);
    // All agents use the same addresses.
    address.set(host)
}

pub extern "C" fn hsa_amd_memory_lock(
    host: *mut c_void,
    bytes: usize,
    agents: In<hsa_agent_t>,
    count: i32,
    address: Out<*mut c_void>,
) -> hsa_status_t {
    answer("hsa_amd_memory_lock", |runtime| {
        let flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
        lock(runtime, (host, bytes), (agents, count), flags, address)
    })
}

pub extern "C" fn hsa_amd_memory_lock_to_pool(
    host: *mut c_void,
    bytes: usize,
    agents: In<hsa_agent_t>,
    count: i32,
    pool: hsa_amd_memory_pool_t,
    _flags: u32,
    address: Out<*mut c_void>,
) -> hsa_status_t {
    answer("hsa_amd_memory_lock_to_pool", |runtime| {
        let pool = Pool::find(runtime, pool.handle).ok_or(Status::INVALID_MEMORY_POOL)?;
        if matches!(pool, Pool::Gpu(_) | Pool::Group(_)) {
            return Err(Status::INVALID_MEMORY_POOL);
        }
        lock(
            runtime,
            (host, bytes),
            (agents, count),
            pool.flags(),
            address,
        )
    })
}

fn unlock(runtime: &Runtime, address: u64) -> Answer {
    let block = runtime.memory.unlock(address)?;
    runtime.forget(block.address, block.bytes);
    Ok(())
}

pub extern "C" fn hsa_amd_memory_unlock(host: *mut c_void) -> hsa_status_t {
    answer("hsa_amd_memory_unlock", |runtime| {
        unlock(runtime, host.addr() as u64)
    })
}

pub extern "C" fn hsa_memory_register(memory: *mut c_void, bytes: usize) -> hsa_status_t {
    answer("hsa_memory_register", |runtime| {
        if memory.is_null() || bytes == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let address = memory.expose_provenance() as u64;
        if !runtime.memory.is_ours(address) {
            let flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
            runtime.memory.lock(address, bytes as u64, flags, Gpus::ALL);
        }
        Ok(())
    })
}

pub extern "C" fn hsa_memory_deregister(memory: *mut c_void, _bytes: usize) -> hsa_status_t {
    answer("hsa_memory_deregister", |runtime| {
        let address = memory.addr() as u64;
        match runtime.memory.is_ours(address) {
            true => Ok(()),
            false => unlock(runtime, address),
        }
    })
}
