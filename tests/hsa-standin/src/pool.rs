//! Memory pools: three of the processor, one of each GPU, and one of its teams.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use crate::agent::{CPU, gpu_agent};
use crate::state::{Answer, State, answer};

/// Handles: of the processor's coarse-grained pool, its fine-grained one, that for arguments,
/// and the first GPU's.
const COARSE: u64 = 0x9001;
pub(crate) const FINE: u64 = 0x9002;
const KERNARG: u64 = 0x9003;
pub(crate) const FIRST_GPU: u64 = 0x9100;
/// The pool of teams, for all GPUs.
const GROUP: u64 = 0x9200;

/// Its size.
pub(crate) const GROUP_SIZE: u32 = 64 << 10;

/// The owner of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Cpu,
    Gpu(usize),
}

impl Owner {
    pub(crate) fn agent(self) -> hsa_agent_t {
        match self {
            Self::Cpu => hsa_agent_t { handle: CPU },
            Self::Gpu(number) => gpu_agent(number),
        }
    }
}

impl State {
    pub(crate) fn owner(&self, pool: hsa_amd_memory_pool_t) -> Answer<Owner> {
        match pool.handle {
            COARSE | FINE | KERNARG => Ok(Owner::Cpu),
            gpu if (FIRST_GPU..FIRST_GPU + self.gpus.len() as u64).contains(&gpu) => {
                Ok(Owner::Gpu((gpu - FIRST_GPU) as usize))
            }
            _ => Err(HSA_STATUS_ERROR_INVALID_MEMORY_POOL),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_agent_iterate_memory_pools", |state| {
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let pools = match agent.handle {
            CPU => vec![COARSE, FINE, KERNARG],
            _ => vec![GROUP, FIRST_GPU + state.gpu(agent)? as u64],
        };
        for handle in pools {
            // SAFETY: the caller's function takes its data and a pool.
            let status = unsafe { callback(hsa_amd_memory_pool_t { handle }, data) };
            if status != HSA_STATUS_SUCCESS {
                return Err(status);
            }
        }
        Ok(())
    })
}

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_amd_memory_pool_get_info(
    pool: hsa_amd_memory_pool_t,
    what: hsa_amd_memory_pool_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_memory_pool_get_info", |state| {
        if pool.handle == GROUP {
            // SAFETY: the caller's promise, with the type that the header documents.
            unsafe {
                match what {
                    HSA_AMD_MEMORY_POOL_INFO_SEGMENT => {
                        value.cast::<u32>().write(HSA_AMD_SEGMENT_GROUP);
                    }
                    HSA_AMD_MEMORY_POOL_INFO_SIZE => {
                        value.cast::<usize>().write(GROUP_SIZE as usize);
                    }
                    HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED => {
                        value.cast::<bool>().write(false);
                    }
                    _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
                }
            }
            return Ok(());
        }
        let owner = state.owner(pool)?;
        let flags = match pool.handle {
            FINE => HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
            KERNARG => {
                HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED
                    | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT
            }
            _ => HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
        };
        let size = match owner {
            Owner::Cpu => 1 << 40,
            Owner::Gpu(number) => state.gpus[number].device.memory().total as usize,
        };
        // SAFETY: the caller's promise, with the type that the header documents.
        unsafe {
            match what {
                HSA_AMD_MEMORY_POOL_INFO_SEGMENT => {
                    value.cast::<u32>().write(HSA_AMD_SEGMENT_GLOBAL);
                }
                HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS => value.cast::<u32>().write(flags),
                HSA_AMD_MEMORY_POOL_INFO_SIZE => value.cast::<usize>().write(size),
                HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED => value.cast::<bool>().write(true),
                _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
        Ok(())
    })
}

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_amd_agent_memory_pool_get_info(
    agent: hsa_agent_t,
    pool: hsa_amd_memory_pool_t,
    what: hsa_amd_agent_memory_pool_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_agent_memory_pool_get_info", |state| {
        state.gpu(agent)?;
        let owner = state.owner(pool)?;
        if what != HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let access = match owner {
            owner if owner.agent().handle == agent.handle => {
                HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
            }
            _ => HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT,
        };
        // SAFETY: the caller's promise: a number of 32 bits.
        unsafe { value.cast::<u32>().write(access) };
        Ok(())
    })
}
