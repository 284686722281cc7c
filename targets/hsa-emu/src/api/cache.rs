//! Caches of agents.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use hsa_runtime_sys::*;

use crate::gpu::{Gpu, agent_of};
use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status, from_callback};

/// The handle of the first GPU's first cache; levels of a GPU have one after the other.
const FIRST: u64 = 0xcac0_0000;
const LEVELS: u64 = 8;

/// The GPU with a cache, and the cache's level from 0.
fn find(runtime: &Runtime, cache: hsa_cache_t) -> Answer<(Arc<Gpu>, usize)> {
    let find = || {
        let offset = cache.handle.checked_sub(FIRST)?;
        let number = u32::try_from(offset / LEVELS).ok()?;
        let gpu = runtime.gpu(agent_of(number)).ok()?;
        let level = (offset % LEVELS) as usize;
        (level < gpu.spec.caches.len()).then_some((gpu, level))
    };
    find().ok_or(Status::INVALID_CACHE)
}

pub extern "C" fn hsa_agent_iterate_caches(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_cache_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_agent_iterate_caches", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let Some(gpu) = runtime.agent(agent)? else {
            return Ok(());
        };
        let first = FIRST + u64::from(gpu.number) * LEVELS;
        (first..first + gpu.spec.caches.len() as u64).try_for_each(|handle| {
            // SAFETY: the program's function takes a cache and its data.
            from_callback(unsafe { callback(hsa_cache_t { handle }, data) })
        })
    })
}

pub extern "C" fn hsa_cache_get_info(
    cache: hsa_cache_t,
    what: hsa_cache_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_cache_get_info", |runtime| {
        let (gpu, level) = find(runtime, cache)?;
        let name = format!("{} L{}", gpu.arch, level + 1);
        match what {
            HSA_CACHE_INFO_NAME_LENGTH => value.of::<u32>().set(name.len() as u32),
            HSA_CACHE_INFO_NAME => value.of::<c_char>().set_text(&name, name.len() as i32 + 1),
            HSA_CACHE_INFO_LEVEL => value.of::<u8>().set(level as u8 + 1),
            HSA_CACHE_INFO_SIZE => value.of::<u32>().set(gpu.spec.caches[level]),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}
