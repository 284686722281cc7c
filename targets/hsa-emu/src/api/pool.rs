//! Memory pools: three of the processor, and two of each GPU.

use std::ffi::c_void;
use std::sync::Arc;

use gcn_emu::MAX_GROUP_BYTES;
use hsa_runtime_sys::*;

use crate::gpu::{Gpu, agent_of};
use crate::memory::{BlockKind, Gpus, MAX_MEMORY, Owner, PAGE};
use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status, from_callback};

/// Handles of the processor's pools, and of the first GPU's own memory and that of its workgroups.
const FINE: u64 = 0x9001_0001;
const KERNARG: u64 = 0x9001_0002;
const COARSE: u64 = 0x9001_0003;
const FIRST_GPU: u64 = 0x9002_0000;
const FIRST_GROUP: u64 = 0x9003_0000;

/// A pool, which is a region of HSA 1.0, too.
#[derive(Clone)]
pub(crate) enum Pool {
    Fine,
    Kernarg,
    Coarse,
    Gpu(Arc<Gpu>),
    Group(Arc<Gpu>),
}

impl Pool {
    /// The pool with a handle.
    pub(crate) fn find(runtime: &Runtime, handle: u64) -> Option<Self> {
        let gpu = |first: u64| {
            let number = u32::try_from(handle.checked_sub(first)?).ok()?;
            runtime.gpu(agent_of(number)).ok()
        };
        match handle {
            FINE => Some(Self::Fine),
            KERNARG => Some(Self::Kernarg),
            COARSE => Some(Self::Coarse),
            FIRST_GPU..FIRST_GROUP => gpu(FIRST_GPU).map(Self::Gpu),
            _ => gpu(FIRST_GROUP).map(Self::Group),
        }
    }

    pub(crate) fn handle(&self) -> u64 {
        match self {
            Self::Fine => FINE,
            Self::Kernarg => KERNARG,
            Self::Coarse => COARSE,
            Self::Gpu(gpu) => FIRST_GPU + u64::from(gpu.number),
            Self::Group(gpu) => FIRST_GROUP + u64::from(gpu.number),
        }
    }

    /// The processor's pools.
    pub(crate) fn of_processor() -> Vec<Self> {
        vec![Self::Fine, Self::Kernarg, Self::Coarse]
    }

    /// A GPU's pools.
    pub(crate) fn of_gpu(gpu: &Arc<Gpu>) -> Vec<Self> {
        vec![Self::Gpu(Arc::clone(gpu)), Self::Group(Arc::clone(gpu))]
    }

    pub(crate) fn flags(&self) -> u32 {
        match self {
            Self::Fine => HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
            Self::Kernarg => {
                HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED
                    | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT
            }
            Self::Coarse | Self::Gpu(_) => HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
            Self::Group(_) => 0,
        }
    }

    pub(crate) fn is_group(&self) -> bool {
        matches!(self, Self::Group(_))
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self, runtime: &Runtime) -> u64 {
        match self {
            Self::Fine | Self::Kernarg | Self::Coarse => runtime.memory.system_bytes(),
            Self::Gpu(gpu) => runtime.memory.usage(gpu.slot).0,
            Self::Group(_) => MAX_GROUP_BYTES.into(),
        }
    }

    fn owner(&self) -> Owner {
        match self {
            Self::Fine | Self::Kernarg | Self::Coarse => Owner::Cpu,
            Self::Gpu(gpu) | Self::Group(gpu) => gpu.owner(),
        }
    }

    /// Whether it is the memory of a GPU, or of its workgroups.
    fn is_of(&self, other: &Gpu) -> bool {
        self.owner() == other.owner()
    }

    /// Allocates memory for its owner and these GPUs.
    pub(crate) fn alloc(&self, runtime: &Runtime, bytes: usize, gpus: Gpus) -> Answer<u64> {
        if self.is_group() || bytes as u64 > MAX_MEMORY {
            return Err(Status::INVALID_ALLOCATION);
        }
        let gpus = match self {
            Self::Gpu(gpu) => gpus.with(gpu.slot),
            _ => gpus,
        };
        let (owner, bytes) = (self.owner(), bytes as u64);
        let memory = &runtime.memory;
        let address = memory.alloc(owner, bytes, BlockKind::Pool, self.flags(), gpus)?;
        runtime.note_pinned();
        Ok(address)
    }
}

fn find(runtime: &Runtime, pool: hsa_amd_memory_pool_t) -> Answer<Pool> {
    Pool::find(runtime, pool.handle).ok_or(Status::INVALID_MEMORY_POOL)
}

type Callback = unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> hsa_status_t;

pub extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: hsa_agent_t,
    callback: Option<Callback>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_agent_iterate_memory_pools", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let pools = match runtime.agent(agent)? {
            None => Pool::of_processor(),
            Some(gpu) => Pool::of_gpu(&gpu),
        };
        pools.iter().try_for_each(|pool| {
            let pool = hsa_amd_memory_pool_t {
                handle: pool.handle(),
            };
            // SAFETY: the program's function takes a pool and its data.
            from_callback(unsafe { callback(pool, data) })
        })
    })
}

pub extern "C" fn hsa_amd_memory_pool_get_info(
    pool: hsa_amd_memory_pool_t,
    what: hsa_amd_memory_pool_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_amd_memory_pool_get_info", |runtime| {
        let pool = find(runtime, pool)?;
        let is_group = pool.is_group();
        let granule = if is_group { 0 } else { PAGE as usize };
        let bytes = pool.bytes(runtime) as usize;
        match what {
            HSA_AMD_MEMORY_POOL_INFO_SEGMENT => value.of::<u32>().set(match is_group {
                true => HSA_AMD_SEGMENT_GROUP,
                false => HSA_AMD_SEGMENT_GLOBAL,
            }),
            HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS if is_group => Err(Status::INVALID_ARGUMENT),
            HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS => value.of::<u32>().set(pool.flags()),
            HSA_AMD_MEMORY_POOL_INFO_SIZE => value.of::<usize>().set(bytes),
            HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE => value.of::<usize>().set(match is_group {
                true => 0,
                false => bytes,
            }),
            HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED => value.of::<bool>().set(!is_group),
            HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE
            | HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT => value.of::<usize>().set(granule),
            HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL => value.of::<bool>().set(false),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}

/// The kind of access of an agent to a pool. The bus does not show a GPU's memory to the host; GPUs may access each
/// other's.
fn access(gpu: Option<&Gpu>, pool: &Pool) -> hsa_amd_memory_pool_access_t {
    match (gpu, pool) {
        (None, Pool::Fine | Pool::Kernarg | Pool::Coarse) => {
            HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
        }
        (None, _) => HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED,
        (Some(gpu), pool) if pool.is_of(gpu) => HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT,
        (Some(_), Pool::Group(_)) => HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED,
        (Some(_), _) => HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT,
    }
}

pub extern "C" fn hsa_amd_agent_memory_pool_get_info(
    agent: hsa_agent_t,
    pool: hsa_amd_memory_pool_t,
    what: hsa_amd_agent_memory_pool_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_amd_agent_memory_pool_get_info", |runtime| {
        let gpu = runtime.agent(agent)?;
        let pool = find(runtime, pool)?;
        let access = access(gpu.as_deref(), &pool);
        let is_linked = access == HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
        match what {
            HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS => value.of::<u32>().set(access),
            HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS => value.of::<u32>().set(is_linked.into()),
            HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO if is_linked => {
                value.of().set(hsa_amd_memory_pool_link_info_t {
                    min_latency: 0,
                    max_latency: 0,
                    min_bandwidth: 0,
                    max_bandwidth: 0,
                    atomic_support_32bit: true,
                    atomic_support_64bit: true,
                    coherent_support: true,
                    link_type: HSA_AMD_LINK_INFO_TYPE_PCIE,
                    numa_distance: 20,
                })
            }
            // Agents have no links to describe.
            HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO => Ok(()),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}

pub extern "C" fn hsa_amd_memory_pool_allocate(
    pool: hsa_amd_memory_pool_t,
    bytes: usize,
    _flags: u32,
    memory: Out<*mut c_void>,
) -> hsa_status_t {
    answer("hsa_amd_memory_pool_allocate", |runtime| {
        let pool = find(runtime, pool)?;
        if bytes == 0 || memory.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let address = pool.alloc(runtime, bytes, Gpus::NONE)?;
        memory.set(address as *mut c_void)
    })
}

pub extern "C" fn hsa_amd_memory_pool_free(memory: *mut c_void) -> hsa_status_t {
    answer("hsa_amd_memory_pool_free", |runtime| {
        super::memory::free(runtime, memory)
    })
}

pub extern "C" fn hsa_amd_memory_pool_can_migrate(
    from: hsa_amd_memory_pool_t,
    to: hsa_amd_memory_pool_t,
    result: Out<bool>,
) -> hsa_status_t {
    answer("hsa_amd_memory_pool_can_migrate", |runtime| {
        find(runtime, from)?;
        find(runtime, to)?;
        result.set(false)?;
        Err(Status::OUT_OF_RESOURCES)
    })
}
