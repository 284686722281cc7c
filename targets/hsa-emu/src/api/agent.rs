//! Agents: one processor, and GPUs.

use std::ffi::{c_char, c_void};

use gcn_emu::MAX_WORKGROUP;
use hsa_runtime_sys::*;

use crate::gpu::{CPU, Gpu};
use crate::memory::PAGE;
use crate::pointers::Out;
use crate::runtime::answer;
use crate::settings::max_packets;
use crate::status::{Answer, Status, from_callback};

/// Properties of newer headers than ours. Source: ROCr, `hsa_ext_amd.h`.
const AMD_MEMORY_AVAIL: hsa_agent_info_t = 0xa015;
const AMD_TIMESTAMP_FREQUENCY: hsa_agent_info_t = 0xa016;
const AMD_ASIC_FAMILY_ID: hsa_agent_info_t = 0xa107;
const AMD_NUM_SDMA_ENG: hsa_agent_info_t = 0xa10b;
const AMD_NUM_SDMA_XGMI_ENG: hsa_agent_info_t = 0xa10c;
const AMD_IOMMU_SUPPORT: hsa_agent_info_t = 0xa110;
const AMD_NUM_XCC: hsa_agent_info_t = 0xa111;
const AMD_DRIVER_UID: hsa_agent_info_t = 0xa112;
const AMD_NEAREST_CPU: hsa_agent_info_t = 0xa113;

/// Characters of names of agents and vendors, and of products and UUIDs.
const NAME: usize = 64;
const UUID: usize = 21;

type Callback = unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t;

pub extern "C" fn hsa_iterate_agents(
    callback: Option<Callback>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_iterate_agents", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let cpu = std::iter::once(hsa_agent_t { handle: CPU });
        let gpus = runtime.gpus();
        cpu.chain(gpus.iter().map(|gpu| gpu.agent()))
            .try_for_each(|agent| {
                // SAFETY: the program's function takes an agent and its data.
                from_callback(unsafe { callback(agent, data) })
            })
    })
}

/// Writes a text with its end, to a buffer of `ROOM` characters.
fn text<const ROOM: usize>(value: Out<c_void>, text: &str) -> Answer {
    value.of::<c_char>().set_text(text, ROOM as i32)
}

pub extern "C" fn hsa_agent_get_info(
    agent: hsa_agent_t,
    what: hsa_agent_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_agent_get_info", |runtime| {
        match runtime.agent(agent)? {
            None => of_processor(what, value),
            Some(gpu) => of_gpu(&gpu, what, value),
        }
    })
}

fn of_processor(what: hsa_agent_info_t, value: Out<c_void>) -> Answer {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from) as u32;
    match what {
        HSA_AGENT_INFO_NAME | HSA_AMD_AGENT_INFO_PRODUCT_NAME => {
            text::<NAME>(value, std::env::consts::ARCH)
        }
        HSA_AGENT_INFO_VENDOR_NAME => text::<NAME>(value, "CPU"),
        HSA_AMD_AGENT_INFO_UUID => text::<UUID>(value, "CPU-XX"),
        HSA_AGENT_INFO_FEATURE => value.of::<u32>().set(0),
        HSA_AGENT_INFO_PROFILE => value.of::<u32>().set(HSA_PROFILE_FULL),
        HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE => {
            value.of::<u32>().set(HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
        }
        HSA_AGENT_INFO_DEVICE => value.of::<u32>().set(HSA_DEVICE_TYPE_CPU),
        HSA_AGENT_INFO_ISA => value.of::<u64>().set(0),
        HSA_AGENT_INFO_WORKGROUP_MAX_DIM => value.of::<[u16; 3]>().set([0; 3]),
        HSA_AGENT_INFO_GRID_MAX_DIM => value.of::<[u32; 3]>().set([0; 3]),
        HSA_AGENT_INFO_CACHE_SIZE => value.of::<[u32; 4]>().set([32 << 10, 0, 0, 0]),
        HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT => value.of::<u32>().set(cores()),
        HSA_AMD_AGENT_INFO_CACHELINE_SIZE => value.of::<u32>().set(64),
        HSA_AMD_AGENT_INFO_CHIP_ID
        | HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY
        | HSA_AMD_AGENT_INFO_BDFID
        | HSA_AMD_AGENT_INFO_MEMORY_WIDTH
        | HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY
        | HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU
        | HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU
        | HSA_AGENT_INFO_WAVEFRONT_SIZE
        | HSA_AGENT_INFO_WORKGROUP_MAX_SIZE
        | HSA_AGENT_INFO_GRID_MAX_SIZE
        | HSA_AGENT_INFO_QUEUES_MAX
        | HSA_AGENT_INFO_QUEUE_MIN_SIZE
        | HSA_AGENT_INFO_QUEUE_MAX_SIZE => value.of::<u32>().set(0),
        _ => of_any(what, value, 0),
    }
}

/// Properties that all agents have, of the one at this place.
fn of_any(what: hsa_agent_info_t, value: Out<c_void>, node: u32) -> Answer {
    match what {
        HSA_AGENT_INFO_MACHINE_MODEL => value.of::<u32>().set(HSA_MACHINE_MODEL_LARGE),
        HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            value.of::<u32>().set(HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
        }
        HSA_AGENT_INFO_FAST_F16_OPERATION => value.of::<bool>().set(false),
        HSA_AGENT_INFO_FBARRIER_MAX_SIZE => value.of::<u32>().set(0),
        HSA_AGENT_INFO_QUEUE_TYPE => value.of::<u32>().set(HSA_QUEUE_TYPE_MULTI),
        HSA_AGENT_INFO_NODE | HSA_AMD_AGENT_INFO_DRIVER_NODE_ID | AMD_DRIVER_UID => {
            value.of::<u32>().set(node)
        }
        HSA_AGENT_INFO_EXTENSIONS => value.of::<[u8; 128]>().set(super::extension::mask()),
        HSA_AGENT_INFO_VERSION_MAJOR => value.of::<u16>().set(super::system::VERSION.0),
        HSA_AGENT_INFO_VERSION_MINOR => value.of::<u16>().set(super::system::VERSION.1),
        HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS
        | HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES
        | HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE
        | HSA_AMD_AGENT_INFO_DOMAIN
        | HSA_AMD_AGENT_INFO_ASIC_REVISION => value.of::<u32>().set(0),
        HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES | HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS => {
            value.of::<bool>().set(false)
        }
        AMD_TIMESTAMP_FREQUENCY => value.of::<u64>().set(crate::clock::FREQUENCY),
        AMD_NEAREST_CPU => value.of::<u64>().set(CPU),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

fn of_gpu(gpu: &Gpu, what: hsa_agent_info_t, value: Out<c_void>) -> Answer {
    let spec = &gpu.spec;
    let number = |value: Out<c_void>, number: u32| value.of::<u32>().set(number);
    match what {
        HSA_AGENT_INFO_NAME => text::<NAME>(value, gpu.arch.name()),
        HSA_AGENT_INFO_VENDOR_NAME => text::<NAME>(value, "AMD"),
        HSA_AMD_AGENT_INFO_PRODUCT_NAME => text::<NAME>(value, &gpu.product()),
        HSA_AMD_AGENT_INFO_UUID => text::<UUID>(value, &format!("GPU-{:016x}", gpu.number)),
        HSA_AGENT_INFO_FEATURE => number(value, HSA_AGENT_FEATURE_KERNEL_DISPATCH),
        HSA_AGENT_INFO_PROFILE => number(value, HSA_PROFILE_BASE),
        HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE => {
            number(value, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
        }
        HSA_AGENT_INFO_FAST_F16_OPERATION => value.of::<bool>().set(true),
        HSA_AGENT_INFO_WAVEFRONT_SIZE => number(value, spec.wave),
        HSA_AGENT_INFO_WORKGROUP_MAX_DIM => value.of::<[u16; 3]>().set([MAX_WORKGROUP as u16; 3]),
        HSA_AGENT_INFO_WORKGROUP_MAX_SIZE => number(value, MAX_WORKGROUP),
        HSA_AGENT_INFO_GRID_MAX_DIM => value.of::<[u32; 3]>().set([i32::MAX.cast_unsigned(); 3]),
        HSA_AGENT_INFO_GRID_MAX_SIZE => number(value, u32::MAX),
        HSA_AGENT_INFO_FBARRIER_MAX_SIZE => number(value, 32),
        HSA_AGENT_INFO_QUEUES_MAX => number(value, 128),
        HSA_AGENT_INFO_QUEUE_MIN_SIZE => number(value, max_packets().min(64)),
        HSA_AGENT_INFO_QUEUE_MAX_SIZE => number(value, max_packets()),
        HSA_AGENT_INFO_DEVICE => number(value, HSA_DEVICE_TYPE_GPU),
        HSA_AGENT_INFO_CACHE_SIZE => {
            let mut sizes = [0; 4];
            let caches = sizes.iter_mut().zip(spec.caches);
            caches.for_each(|(size, &cache)| *size = cache);
            value.of::<[u32; 4]>().set(sizes)
        }
        HSA_AGENT_INFO_ISA => value.of::<u64>().set(super::isa::handle(gpu).handle),
        HSA_AMD_AGENT_INFO_CHIP_ID => number(value, spec.chip),
        HSA_AMD_AGENT_INFO_CACHELINE_SIZE => number(value, spec.cache_line),
        HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT
        | HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT => number(value, gpu.processors),
        HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY => number(value, spec.clock),
        HSA_AMD_AGENT_INFO_BDFID => number(value, (gpu.number + 1) << 8),
        HSA_AMD_AGENT_INFO_MEMORY_WIDTH => number(value, spec.memory_width),
        HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY => number(value, spec.memory_clock),
        HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU => number(value, spec.waves),
        HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU => number(value, spec.simds),
        HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES => number(value, spec.shader_engines),
        HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE => number(value, spec.arrays),
        HSA_AMD_AGENT_INFO_HDP_FLUSH => value.of::<[usize; 2]>().set([0; 2]),
        AMD_MEMORY_AVAIL => {
            let (bytes, used) = gpu.memory.usage(gpu.slot);
            value
                .of::<u64>()
                .set(bytes.saturating_sub(used) & !(PAGE - 1))
        }
        AMD_ASIC_FAMILY_ID => number(value, 0),
        AMD_NUM_SDMA_ENG => number(value, 2),
        AMD_NUM_SDMA_XGMI_ENG => number(value, 0),
        AMD_IOMMU_SUPPORT => number(value, 0),
        AMD_NUM_XCC => number(value, 1),
        _ => of_any(what, value, gpu.number + 1),
    }
}

pub extern "C" fn hsa_agent_get_exception_policies(
    agent: hsa_agent_t,
    _profile: hsa_profile_t,
    mask: Out<u16>,
) -> hsa_status_t {
    answer("hsa_agent_get_exception_policies", |runtime| {
        runtime.agent(agent)?;
        mask.set(0)
    })
}

/// GPUs that an array names. The processor, which may use all memory, is skipped.
pub(crate) fn gpus_of(
    runtime: &crate::runtime::Runtime,
    agents: &[hsa_agent_t],
) -> Answer<crate::memory::Gpus> {
    let mut gpus = crate::memory::Gpus::NONE;
    for &agent in agents {
        if let Some(gpu) = runtime.agent(agent)? {
            gpus = gpus.with(gpu.slot);
        }
    }
    Ok(gpus)
}
