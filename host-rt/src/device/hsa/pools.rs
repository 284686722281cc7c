//! Memory pools of a machine, and their uses.

use hsa_runtime_sys::{
    HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED,
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED as COARSE,
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED as FINE,
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT as KERNARG, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
    HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
    HSA_AMD_MEMORY_POOL_INFO_SIZE, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_SEGMENT_GROUP, hsa_agent_t,
    hsa_amd_memory_pool_info_t, hsa_amd_memory_pool_t, hsa_amd_segment_t,
};

use super::agents::{Agents, collect};
use super::runtime::{Runtime, check};
use crate::device::DriverFailure;

/// The pools for a GPU's memory.
#[derive(Clone, Copy)]
pub(super) struct Pools {
    /// Device memory: of the GPU, coarse-grained.
    pub(super) device: hsa_amd_memory_pool_t,
    /// Size of that in bytes.
    pub(super) device_size: u64,
    /// Mapped memory: the host's, fine-grained, so that each side sees the other's writes while a
    /// kernel runs.
    pub(super) mapped: hsa_amd_memory_pool_t,
    /// Arguments of kernels, and staged bytes of copies.
    pub(super) kernarg: hsa_amd_memory_pool_t,
    /// Maximum shared memory of a team in bytes.
    pub(super) shared_size: u32,
}

/// The reason why a GPU lacks the required pools.
pub(super) enum NoPools {
    /// ROCr reported an error.
    Failure(DriverFailure),
    /// There is no pool of that kind.
    Missing(&'static str),
}

impl From<DriverFailure> for NoPools {
    fn from(failure: DriverFailure) -> Self {
        Self::Failure(failure)
    }
}

impl Pools {
    /// The pools of `gpu`.
    pub(super) fn of(rocr: &Runtime, agents: &Agents, gpu: hsa_agent_t) -> Result<Self, NoPools> {
        let mut device = None;
        for pool in list(rocr, gpu)? {
            if has(flags(rocr, pool)?, COARSE) {
                device.get_or_insert(pool);
            }
        }
        let (mut mapped, mut kernarg) = (None, None);
        for &cpu in &agents.cpus {
            for pool in list(rocr, cpu)? {
                if !is_within_reach(rocr, gpu, pool)? {
                    continue;
                }
                let flags = flags(rocr, pool)?;
                if has(flags, FINE) {
                    mapped.get_or_insert(pool);
                }
                if has(flags, FINE) && has(flags, KERNARG) {
                    kernarg.get_or_insert(pool);
                }
            }
        }
        let device = device.ok_or(NoPools::Missing("coarse-grained memory of its own"))?;
        Ok(Self {
            device,
            // SAFETY: a size is a `usize`.
            device_size: unsafe { info(rocr, device, HSA_AMD_MEMORY_POOL_INFO_SIZE, 0usize)? }
                as u64,
            mapped: mapped.ok_or(NoPools::Missing(
                "fine-grained memory of the host within reach, which calls to the host need",
            ))?,
            kernarg: kernarg.ok_or(NoPools::Missing("memory for arguments of kernels"))?,
            shared_size: shared_size(rocr, gpu)?,
        })
    }
}

fn has(flags: u32, flag: u32) -> bool {
    flags & flag != 0
}

/// Maximum shared memory of a team of a GPU: the size of its pool. Without such a pool the device
/// rejects launches that request too much.
fn shared_size(rocr: &Runtime, gpu: hsa_agent_t) -> Result<u32, DriverFailure> {
    for pool in all(rocr, gpu)? {
        if segment(rocr, pool)? == HSA_AMD_SEGMENT_GROUP {
            // SAFETY: a size is a `usize`.
            let size = unsafe { info(rocr, pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, 0usize)? };
            return Ok(u32::try_from(size).unwrap_or(u32::MAX));
        }
    }
    Ok(u32::MAX)
}

/// The pools of an agent.
fn all(rocr: &Runtime, agent: hsa_agent_t) -> Result<Vec<hsa_amd_memory_pool_t>, DriverFailure> {
    let mut pools: Vec<hsa_amd_memory_pool_t> = Vec::new();
    // SAFETY: the function calls `collect` with the vector while it runs.
    let asked = unsafe {
        rocr.hsa_amd_agent_iterate_memory_pools(agent, Some(collect), (&raw mut pools).cast())
    };
    check(rocr, "hsa_amd_agent_iterate_memory_pools", asked)?;
    Ok(pools)
}

/// The pools of an agent that memory can be allocated from.
fn list(rocr: &Runtime, agent: hsa_agent_t) -> Result<Vec<hsa_amd_memory_pool_t>, DriverFailure> {
    let mut usable = Vec::new();
    for pool in all(rocr, agent)? {
        let what = HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED;
        // SAFETY: the answer is a `bool`.
        let can_alloc = unsafe { info(rocr, pool, what, false)? };
        if segment(rocr, pool)? == HSA_AMD_SEGMENT_GLOBAL && can_alloc {
            usable.push(pool);
        }
    }
    Ok(usable)
}

fn segment(
    rocr: &Runtime,
    pool: hsa_amd_memory_pool_t,
) -> Result<hsa_amd_segment_t, DriverFailure> {
    // SAFETY: a segment is a number of this size.
    unsafe { info(rocr, pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, 0) }
}

fn flags(rocr: &Runtime, pool: hsa_amd_memory_pool_t) -> Result<u32, DriverFailure> {
    // SAFETY: a set of flags is a number of this size.
    unsafe { info(rocr, pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, 0u32) }
}

fn is_within_reach(
    rocr: &Runtime,
    agent: hsa_agent_t,
    pool: hsa_amd_memory_pool_t,
) -> Result<bool, DriverFailure> {
    let mut access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
    // SAFETY: the function writes a number of this size.
    let asked = unsafe {
        rocr.hsa_amd_agent_memory_pool_get_info(
            agent,
            pool,
            HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
            (&raw mut access).cast(),
        )
    };
    check(rocr, "hsa_amd_agent_memory_pool_get_info", asked)?;
    Ok(access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED)
}

/// A property of a pool.
///
/// # Safety
/// `T` is the type of the value of `what`.
unsafe fn info<T>(
    rocr: &Runtime,
    pool: hsa_amd_memory_pool_t,
    what: hsa_amd_memory_pool_info_t,
    mut value: T,
) -> Result<T, DriverFailure> {
    // SAFETY: the function writes a value of that type.
    let asked = unsafe { rocr.hsa_amd_memory_pool_get_info(pool, what, (&raw mut value).cast()) };
    check(rocr, "hsa_amd_memory_pool_get_info", asked)?;
    Ok(value)
}
