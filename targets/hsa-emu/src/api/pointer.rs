//! Information about addresses.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use crate::gpu::CPU;
use crate::memory::{Block, BlockKind, Owner};
use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

/// The description of an allocation.
fn describe(runtime: &Runtime, block: &Block) -> hsa_amd_pointer_info_t {
    // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
    let mut info: hsa_amd_pointer_info_t = unsafe { std::mem::zeroed() };
    info.type_ = match block.kind {
        BlockKind::Locked => HSA_EXT_POINTER_TYPE_LOCKED,
        BlockKind::Pool | BlockKind::Code | BlockKind::Internal => HSA_EXT_POINTER_TYPE_HSA,
    };
    info.agentBaseAddress = block.address as *mut c_void;
    // The host cannot use a GPU's memory.
    if block.owner == Owner::Cpu {
        info.hostBaseAddress = info.agentBaseAddress;
    }
    info.sizeInBytes = block.bytes as usize;
    info.userData = block.user_data as *mut c_void;
    info.agentOwner = runtime
        .owner(block.owner)
        .unwrap_or(hsa_agent_t { handle: 0 });
    info.global_flags = block.flags;
    info
}

/// The agents that may use an allocation.
fn accessible(runtime: &Runtime, block: &Block) -> Vec<hsa_agent_t> {
    let cpu = (block.owner == Owner::Cpu).then_some(hsa_agent_t { handle: CPU });
    let gpus = runtime.gpus();
    let gpus = gpus.iter().filter(|gpu| block.gpus.has(gpu.slot));
    cpu.into_iter().chain(gpus.map(|gpu| gpu.agent())).collect()
}

type Alloc = unsafe extern "C" fn(usize) -> *mut c_void;

pub extern "C" fn hsa_amd_pointer_info(
    pointer: *const c_void,
    info: *mut hsa_amd_pointer_info_t,
    alloc: Option<Alloc>,
    count: Out<u32>,
    agents: Out<*mut hsa_agent_t>,
) -> hsa_status_t {
    answer("hsa_amd_pointer_info", |runtime| {
        if pointer.is_null() || info.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: not null, so valid for a size by the promise of the C caller.
        let room = unsafe { (&raw const (*info).size).read_unaligned() };
        let size = size_of::<hsa_amd_pointer_info_t>() as u32;
        if room == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let block = runtime.memory.block_at(pointer.addr() as u64);
        // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
        let unknown = || unsafe { std::mem::zeroed() };
        let mut found = block
            .as_ref()
            .map_or_else(unknown, |block| describe(runtime, block));
        // Fields unknown to older programs are left out, as in ROCr.
        found.size = size.min(room);
        // SAFETY: valid for as many bytes as it says, by the promise of the C caller.
        unsafe {
            let from = (&raw const found).cast::<u8>();
            info.cast::<u8>()
                .copy_from_nonoverlapping(from, found.size as usize);
        }
        match (count.is_null(), agents.is_null()) {
            (true, true) => Ok(()),
            (false, false) => {
                let all = block.map_or_else(Vec::new, |block| accessible(runtime, &block));
                set_agents(&all, alloc, count, agents)
            }
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}

/// Writes a list to memory that the program or, without a function of its own, C's library allocates.
fn set_agents(
    all: &[hsa_agent_t],
    alloc: Option<Alloc>,
    count: Out<u32>,
    agents: Out<*mut hsa_agent_t>,
) -> Answer {
    let bytes = size_of_val(all);
    let list = match alloc {
        // SAFETY: the program's function takes a number of bytes.
        Some(alloc) => unsafe { alloc(bytes) },
        // SAFETY: it has no preconditions.
        None => unsafe { libc::malloc(bytes) },
    };
    let list: *mut hsa_agent_t = list.cast();
    if list.is_null() && bytes > 0 {
        return Err(Status::OUT_OF_RESOURCES);
    }
    if bytes > 0 {
        // SAFETY: just allocated with this size.
        unsafe { list.copy_from_nonoverlapping(all.as_ptr(), all.len()) };
    }
    count.set(all.len() as u32)?;
    agents.set(list)
}

pub extern "C" fn hsa_amd_pointer_info_set_userdata(
    pointer: *const c_void,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_pointer_info_set_userdata", |runtime| {
        let block = runtime.memory.block_at(pointer.addr() as u64);
        let block = block.ok_or(Status::INVALID_ARGUMENT)?;
        let data = data.expose_provenance();
        let set = runtime
            .memory
            .update(block.address, |block| block.user_data = data);
        set.ok_or(Status::INVALID_ARGUMENT)
    })
}
