//! Regions of HSA 1.0: the pools that an agent sees.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use super::pool::Pool;
use crate::memory::{Gpus, PAGE};
use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status, from_callback};

fn find(runtime: &Runtime, region: hsa_region_t) -> Answer<Pool> {
    Pool::find(runtime, region.handle).ok_or(Status::INVALID_REGION)
}

pub extern "C" fn hsa_agent_iterate_regions(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_region_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_agent_iterate_regions", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let gpu = runtime.agent(agent)?;
        let own = gpu.as_ref().map_or_else(Vec::new, Pool::of_gpu);
        own.iter()
            .chain(&Pool::of_processor())
            .try_for_each(|pool| {
                let region = hsa_region_t {
                    handle: pool.handle(),
                };
                // SAFETY: the program's function takes a region and its data.
                from_callback(unsafe { callback(region, data) })
            })
    })
}

pub extern "C" fn hsa_region_get_info(
    region: hsa_region_t,
    what: hsa_region_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_region_get_info", |runtime| {
        let region = find(runtime, region)?;
        let is_group = region.is_group();
        let granule = if is_group { 0 } else { PAGE as usize };
        let bytes = region.bytes(runtime) as usize;
        match what {
            HSA_REGION_INFO_SEGMENT => value.of::<u32>().set(match is_group {
                true => HSA_REGION_SEGMENT_GROUP,
                false => HSA_REGION_SEGMENT_GLOBAL,
            }),
            // The flags of pools have the same numbers.
            HSA_REGION_INFO_GLOBAL_FLAGS => value.of::<u32>().set(region.flags()),
            HSA_REGION_INFO_SIZE => value.of::<usize>().set(bytes),
            HSA_REGION_INFO_ALLOC_MAX_SIZE => value.of::<usize>().set(match is_group {
                true => 0,
                false => bytes,
            }),
            HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE => value.of::<u32>().set(0),
            HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED => value.of::<bool>().set(!is_group),
            HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE | HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT => {
                value.of::<usize>().set(granule)
            }
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}

pub extern "C" fn hsa_memory_allocate(
    region: hsa_region_t,
    bytes: usize,
    memory: Out<*mut c_void>,
) -> hsa_status_t {
    answer("hsa_memory_allocate", |runtime| {
        let region = find(runtime, region)?;
        if bytes == 0 || memory.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Regions have no access of their own: all agents may use the memory.
        let address = region.alloc(runtime, bytes, Gpus::ALL)?;
        memory.set(address as *mut c_void)
    })
}
