//! Memory that is allocated in a stream's order. All pools are the device's memory.

use std::ffi::c_void;
use std::sync::Arc;

use emu_driver::process::lock;

use crate::code::{Answer, Code};
use crate::driver::{with_context, with_driver};
use crate::pointers::{In, Out};
use crate::settings::settings;
use crate::state::Context;
use crate::state::gpu::Gpu;
use crate::state::pools::{POOLS, new_pool, remove_pool};

fn alloc(context: &Context, address: Out<u64>, bytes: usize, stream: u64, default: u64) -> Answer {
    context.stream(stream, default)?;
    address.check()?;
    if !settings().pools {
        return Err(Code::NOT_SUPPORTED);
    }
    address.set(context.alloc(bytes, true)?)
}

pub extern "C" fn cuMemAllocAsync<const DEFAULT: u64>(
    address: Out<u64>,
    bytes: usize,
    stream: u64,
) -> u32 {
    with_context("cuMemAllocAsync", |context| {
        alloc(context, address, bytes, stream, DEFAULT)
    })
}

pub extern "C" fn cuMemAllocFromPoolAsync<const DEFAULT: u64>(
    address: Out<u64>,
    bytes: usize,
    pool: u64,
    stream: u64,
) -> u32 {
    with_context("cuMemAllocFromPoolAsync", |context| {
        known(pool)?;
        alloc(context, address, bytes, stream, DEFAULT)
    })
}

pub extern "C" fn cuMemFreeAsync<const DEFAULT: u64>(address: u64, stream: u64) -> u32 {
    with_context("cuMemFreeAsync", |context| {
        let stream = context.stream(stream, DEFAULT)?;
        let mut owned = lock(&context.owned);
        match owned.blocks.get(&address) {
            Some(block) if block.of_stream => owned.blocks.remove(&address),
            _ => return Err(Code::INVALID_VALUE),
        };
        drop(owned);
        let gpu = Arc::clone(&context.gpu);
        // Also in a broken context, which does not own the memory any more.
        let queued = context.queue_callback(&stream, move |_| gpu.machine.memory().free(address));
        if queued.is_err() {
            context.gpu.machine.memory().free(address);
        }
        queued
    })
}

fn known(pool: u64) -> Answer {
    lock(&POOLS)
        .contains_key(&pool)
        .then_some(())
        .ok_or(Code::INVALID_VALUE)
}

fn pool_of(pool: Out<u64>, device: i32, choose: fn(&Gpu) -> u64, function: &str) -> u32 {
    with_driver(function, |driver| {
        let gpu = driver.gpu(device)?;
        if !settings().pools {
            return Err(Code::NOT_SUPPORTED);
        }
        pool.set(choose(&gpu))
    })
}

pub extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) -> u32 {
    pool_of(
        pool,
        device,
        |gpu| gpu.default_pool,
        "cuDeviceGetDefaultMemPool",
    )
}

pub extern "C" fn cuDeviceGetMemPool(pool: Out<u64>, device: i32) -> u32 {
    pool_of(pool, device, |gpu| *lock(&gpu.pool), "cuDeviceGetMemPool")
}

pub extern "C" fn cuDeviceSetMemPool(device: i32, pool: u64) -> u32 {
    with_driver("cuDeviceSetMemPool", |driver| {
        let gpu = driver.gpu(device)?;
        known(pool)?;
        *lock(&gpu.pool) = pool;
        Ok(())
    })
}

pub extern "C" fn cuMemPoolCreate(pool: Out<u64>, properties: *const c_void) -> u32 {
    with_driver("cuMemPoolCreate", |_| {
        if properties.is_null() || pool.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        pool.set(new_pool())
    })
}

/// A GPU that uses the pool uses its default one again, which cannot be destroyed.
pub extern "C" fn cuMemPoolDestroy(pool: u64) -> u32 {
    with_driver("cuMemPoolDestroy", |driver| {
        let gpus = driver.gpus();
        if gpus.iter().any(|gpu| gpu.default_pool == pool) || !remove_pool(pool) {
            return Err(Code::INVALID_VALUE);
        }
        for gpu in gpus {
            let mut used = lock(&gpu.pool);
            if *used == pool {
                *used = gpu.default_pool;
            }
        }
        Ok(())
    })
}

/// Freed memory is never kept.
pub extern "C" fn cuMemPoolTrimTo(pool: u64, _keep: usize) -> u32 {
    with_driver("cuMemPoolTrimTo", |_| known(pool))
}

/// The attributes with four bytes; later ones have eight.
const SMALL: std::ops::RangeInclusive<u32> = 1..=3;
const ALL: std::ops::RangeInclusive<u32> = 1..=8;

pub extern "C" fn cuMemPoolSetAttribute(pool: u64, attribute: u32, value: In<u32>) -> u32 {
    with_driver("cuMemPoolSetAttribute", |_| {
        let words = value.all(if SMALL.contains(&attribute) { 1 } else { 2 })?;
        let high = words.get(1).copied().unwrap_or(0);
        let number = u64::from(high) << 32 | u64::from(words[0]);
        let mut pools = lock(&POOLS);
        let pool = pools.get_mut(&pool).filter(|_| ALL.contains(&attribute));
        pool.ok_or(Code::INVALID_VALUE)?.insert(attribute, number);
        Ok(())
    })
}

/// Attributes are as they were set; sizes are 0, since no pool keeps memory.
pub extern "C" fn cuMemPoolGetAttribute(pool: u64, attribute: u32, value: Out<c_void>) -> u32 {
    with_driver("cuMemPoolGetAttribute", |_| {
        let pools = lock(&POOLS);
        let pool = pools.get(&pool).filter(|_| ALL.contains(&attribute));
        let set = pool.ok_or(Code::INVALID_VALUE)?.get(&attribute).copied();
        // Reuse is allowed unless it was forbidden.
        let is_small = SMALL.contains(&attribute);
        let number = set.unwrap_or(u64::from(is_small));
        if is_small {
            value.of().set(number as u32)
        } else {
            value.of().set(number)
        }
    })
}

/// A pool is its own device's.
pub extern "C" fn cuMemPoolSetAccess(pool: u64, _access: *const c_void, _count: usize) -> u32 {
    with_driver("cuMemPoolSetAccess", |_| known(pool))
}

/// Read and write.
pub extern "C" fn cuMemPoolGetAccess(flags: Out<u32>, pool: u64, _location: *const c_void) -> u32 {
    with_driver("cuMemPoolGetAccess", |_| {
        known(pool)?;
        flags.set(3)
    })
}
