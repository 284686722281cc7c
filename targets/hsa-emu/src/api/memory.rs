//! Memory: freeing it, access to it, and copies that wait.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use super::agent::gpus_of;
use crate::memory::{BlockKind, OnFree, Owner};
use crate::pointers::In;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

/// Frees memory of a pool, and calls the functions that wait for that.
pub(crate) fn free(runtime: &Runtime, memory: *mut c_void) -> Answer {
    if memory.is_null() {
        return Ok(());
    }
    let address = memory.expose_provenance() as u64;
    let block = runtime.memory.block_at(address);
    let block = block.filter(|block| block.address == address && block.kind == BlockKind::Pool);
    let block = block.ok_or(Status::INVALID_ALLOCATION)?;
    // Before the memory is freed.
    for &(function, data) in &block.on_free {
        // SAFETY: the program's function takes the memory and its data.
        unsafe { function(memory, data as *mut c_void) };
    }
    runtime.forget(address, block.bytes);
    runtime.memory.free(address, BlockKind::Pool).map(drop)
}

pub extern "C" fn hsa_memory_free(memory: *mut c_void) -> hsa_status_t {
    answer("hsa_memory_free", |runtime| free(runtime, memory))
}

pub extern "C" fn hsa_amd_agents_allow_access(
    count: u32,
    agents: In<hsa_agent_t>,
    flags: *const u32,
    memory: *const c_void,
) -> hsa_status_t {
    answer("hsa_amd_agents_allow_access", |runtime| {
        if count == 0 || !flags.is_null() || memory.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Agents that are not named lose access, except the owner.
        let mut gpus = gpus_of(runtime, &agents.all(count as usize)?)?;
        let address = memory.addr() as u64;
        let changed = runtime.memory.update(address, |block| {
            if let Owner::Gpu(slot) = block.owner {
                gpus = gpus.with(slot);
            }
            block.gpus = gpus;
        });
        changed.ok_or(Status::INVALID_ALLOCATION)
    })
}

pub extern "C" fn hsa_memory_assign_agent(
    memory: *mut c_void,
    agent: hsa_agent_t,
    _access: hsa_access_permission_t,
) -> hsa_status_t {
    answer("hsa_memory_assign_agent", |runtime| {
        if memory.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // The memory of a pool keeps its owner.
        runtime.agent(agent).map(drop)
    })
}

/// Copies between an allocation and any memory of the host. Access of GPUs is not checked, because the runtime itself
/// performs the copy.
pub extern "C" fn hsa_memory_copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> hsa_status_t {
    answer("hsa_memory_copy", |runtime| {
        if to.is_null() || from.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if bytes == 0 {
            return Ok(());
        }
        let to = to.expose_provenance() as u64;
        let from = from.expose_provenance() as u64;
        let is_known = [to, from].iter().any(|&side| runtime.memory.is_ours(side));
        if !is_known && runtime.is_strict() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: by the promise of the C caller, host memory of its own is valid and not used otherwise.
        unsafe { runtime.memory.copy(to, from, bytes) }
    })
}

pub extern "C" fn hsa_amd_memory_fill(
    memory: *mut c_void,
    value: u32,
    count: usize,
) -> hsa_status_t {
    answer("hsa_amd_memory_fill", |runtime| {
        if memory.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if count == 0 {
            return Ok(());
        }
        let address = memory.expose_provenance() as u64;
        runtime.memory.fill(address, value, count)
    })
}

pub extern "C" fn hsa_amd_register_deallocation_callback(
    memory: *mut c_void,
    callback: Option<OnFree>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_register_deallocation_callback", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let data = data.expose_provenance();
        let added = runtime.memory.update(memory.addr() as u64, |block| {
            block.on_free.push((callback, data));
        });
        added.ok_or(Status::INVALID_ALLOCATION)
    })
}

pub extern "C" fn hsa_amd_deregister_deallocation_callback(
    memory: *mut c_void,
    callback: Option<OnFree>,
) -> hsa_status_t {
    answer("hsa_amd_deregister_deallocation_callback", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let removed = runtime.memory.update(memory.addr() as u64, |block| {
            let before = block.on_free.len();
            let is_other = |other: OnFree| !std::ptr::fn_addr_eq(other, callback);
            block.on_free.retain(|&(other, _)| is_other(other));
            before > block.on_free.len()
        });
        let removed = removed.filter(|&removed| removed);
        removed.map(drop).ok_or(Status::INVALID_ARGUMENT)
    })
}
