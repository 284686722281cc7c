//! Memory.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

use emu_driver::fill::soil;
use emu_driver::process::{handle, lock};
use host_rt::device::{DeviceAddr, Fill};
use hsa_runtime_sys::*;

use crate::pool::Owner;
use crate::state::{Answer, State, answer, state};

/// The granularity of allocations, and their alignment on the host.
const GRAIN: usize = 4096;

/// An allocation.
pub(crate) struct Block {
    size: usize,
    owner: Owner,
    /// GPUs with access, besides its owner.
    allowed: Vec<u64>,
    /// The next handle at the time of its allocation.
    made: u64,
}

/// A block that the caller has freed, and whose memory is freed on drop.
pub(crate) struct Freed {
    address: *mut u8,
    block: Block,
}

// SAFETY: only this owns the block, or kernels until they end; any thread may free it.
unsafe impl Send for Freed {}
// SAFETY: a reference to it allows no operation.
unsafe impl Sync for Freed {}

impl Drop for Freed {
    fn drop(&mut self) {
        match self.block.owner {
            // SAFETY: allocated with this layout, and in the table until it was freed.
            Owner::Cpu => unsafe { dealloc(self.address, layout(self.block.size)) },
            Owner::Gpu(number) => {
                let address = self.address.addr() as u64;
                state().gpus[number].device.free(DeviceAddr(address));
            }
        }
    }
}

impl State {
    /// Whether `agent` may use all of the range, which must be allocated.
    pub(crate) fn may_use(&self, agent: hsa_agent_t, address: u64, len: usize) -> bool {
        let memory = lock(&self.memory);
        let Some((&start, block)) = memory.range(..=address).next_back() else {
            return false;
        };
        let end = (address - start).checked_add(len as u64);
        end.is_some_and(|end| end <= block.size as u64)
            && (block.owner.agent().handle == agent.handle || block.allowed.contains(&agent.handle))
    }

    /// Whether a range is memory of that GPU: allocated, or of an image.
    pub(crate) fn is_of_gpu(&self, number: usize, address: u64, len: usize) -> bool {
        self.range_of_gpu(number, address)
            .is_some_and(|(start, size)| {
                let end = (address - start).checked_add(len as u64);
                end.is_some_and(|end| end <= size)
            })
    }

    /// The number of bytes from this address on in an allocation or an image.
    pub(crate) fn room_at(&self, address: u64) -> Option<u64> {
        let allocated = {
            let memory = lock(&self.memory);
            let block = memory.range(..=address).next_back();
            block.map(|(&start, block)| (start, block.size as u64))
        };
        let gpus = 0..self.gpus.len();
        let of_gpus = gpus.filter_map(|number| self.range_of_gpu(number, address));
        let mut ranges = allocated.into_iter().chain(of_gpus);
        let (start, size) =
            ranges.find(|&(start, size)| (start..start + size).contains(&address))?;
        Some(start + size - address)
    }

    /// Allocates memory of `owner`, with access for these GPUs.
    pub(crate) fn allocate(&self, owner: Owner, size: usize, allowed: Vec<u64>) -> Answer<*mut u8> {
        let size = size
            .checked_next_multiple_of(GRAIN)
            .filter(|&size| size < 1 << 46)
            .ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        let address = match owner {
            // SAFETY: the layout is not empty.
            Owner::Cpu => unsafe { alloc(layout(size)) },
            Owner::Gpu(number) => {
                let device = &self.gpus[number].device;
                let allocated = device.alloc(size as u64, Fill::Zeros);
                allocated.map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?.0 as *mut u8
            }
        };
        if address.is_null() {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        // SAFETY: addresses of the `host` device are addresses here; `size` bytes were allocated,
        // and are not shared yet.
        unsafe { soil(address, size) };
        let block = Block {
            size,
            owner,
            allowed,
            made: handle(),
        };
        lock(&self.memory).insert(address.expose_provenance() as u64, block);
        Ok(address)
    }

    /// Updates the maximum of allocated host memory.
    fn note_pinned(&self) {
        let memory = lock(&self.memory);
        let blocks = memory.values().filter(|block| block.owner == Owner::Cpu);
        let now = blocks.map(|block| block.size as u64).sum();
        // Relaxed: read at the end.
        self.most_pinned.fetch_max(now, Ordering::Relaxed);
    }

    /// Start and size of the memory of that GPU that contains `address`.
    fn range_of_gpu(&self, number: usize, address: u64) -> Option<(u64, u64)> {
        let allocated = {
            let memory = lock(&self.memory);
            let block = memory.range(..=address).next_back();
            block
                .filter(|(_, block)| block.owner == Owner::Gpu(number))
                .map(|(&start, block)| (start, block.size as u64))
        };
        let executables = lock(&self.executables);
        let loaded = executables.values();
        let mut ranges = allocated
            .into_iter()
            .chain(loaded.flat_map(|executable| executable.segments(number)));
        ranges.find(|&(start, size)| (start..start + size).contains(&address))
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, GRAIN).expect("sizes of blocks are those of memory")
}

/// # Safety
/// `memory` is valid for a pointer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_allocate(
    pool: hsa_amd_memory_pool_t,
    size: usize,
    flags: u32,
    memory: *mut *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_memory_pool_allocate", |state| {
        let owner = state.owner(pool)?;
        if size == 0 || flags != 0 || memory.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let address = state.allocate(owner, size, Vec::new())?;
        state.note_pinned();
        // SAFETY: the caller's promise.
        unsafe { memory.write(address.cast()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_amd_memory_pool_free(memory: *mut c_void) -> hsa_status_t {
    answer("hsa_amd_memory_pool_free", |state| {
        let address = memory.expose_provenance() as u64;
        let block = lock(&state.memory).remove(&address);
        let block = block.ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        let made = block.made;
        let address = memory.cast();
        state.zombies.drop_later(made, Freed { address, block });
        Ok(())
    })
}

/// # Safety
/// There are `count` agents.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_amd_agents_allow_access(
    count: u32,
    agents: *const hsa_agent_t,
    flags: *const u32,
    memory: *const c_void,
) -> hsa_status_t {
    answer("hsa_amd_agents_allow_access", |state| {
        if count == 0 || agents.is_null() || !flags.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        let agents = unsafe { std::slice::from_raw_parts(agents, count as usize) };
        for &agent in agents {
            state.gpu(agent)?;
        }
        let mut blocks = lock(&state.memory);
        let block = blocks.get_mut(&(memory.addr() as u64));
        // Agents that are not named lose access.
        block.ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?.allowed =
            agents.iter().map(|agent| agent.handle).collect();
        Ok(())
    })
}

/// # Safety
/// `info` is valid for the bytes in its `size`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_amd_pointer_info(
    pointer: *const c_void,
    info: *mut hsa_amd_pointer_info_t,
    _alloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    count: *mut u32,
    _accessible: *mut *mut hsa_agent_t,
) -> hsa_status_t {
    answer("hsa_amd_pointer_info", |state| -> Answer {
        let address = pointer.addr() as u64;
        // SAFETY: the caller's promise.
        let room = unsafe { (*info).size } as usize;
        if room < size_of::<hsa_amd_pointer_info_t>() || !count.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let mut gpus = 0..state.gpus.len();
        let found = gpus.find_map(|number| Some((number, state.range_of_gpu(number, address)?)));
        // SAFETY: the caller's promise.
        let info = unsafe { &mut *info };
        info.type_ = HSA_EXT_POINTER_TYPE_UNKNOWN;
        if let Some((number, (start, size))) = found {
            info.type_ = HSA_EXT_POINTER_TYPE_HSA;
            info.agentBaseAddress = start as *mut c_void;
            info.sizeInBytes = size as usize;
            info.agentOwner = Owner::Gpu(number).agent();
        }
        Ok(())
    })
}
