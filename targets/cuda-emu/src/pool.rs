//! Memory that is allocated in a stream's order. All pools are the device's memory.

use std::ffi::c_void;
use std::sync::Arc;

use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::{settings, with_context, with_driver};
use crate::pointers::Out;

fn alloc(context: &Context, address: Out<u64>, bytes: usize, stream: u64, default: u64) -> Answer {
    context.stream(stream, default)?;
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
    with_context("cuMemAllocAsync", |context| alloc(context, address, bytes, stream, DEFAULT))
}

pub extern "C" fn cuMemAllocFromPoolAsync<const DEFAULT: u64>(
    address: Out<u64>,
    bytes: usize,
    pool: u64,
    stream: u64,
) -> u32 {
    with_context("cuMemAllocFromPoolAsync", |context| {
        if pool == 0 {
            return Err(Code::INVALID_HANDLE);
        }
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
        context.queue(&stream, move || {
            gpu.machine.memory().free(address);
            Ok(())
        })
    })
}

fn pool_of(pool: Out<u64>, device: i32, function: &str) -> u32 {
    with_driver(function, |driver| {
        driver.gpu(device)?;
        if !settings().pools {
            return Err(Code::NOT_SUPPORTED);
        }
        // No function here uses it.
        pool.set(handle())
    })
}

pub extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) -> u32 {
    pool_of(pool, device, "cuDeviceGetDefaultMemPool")
}

pub extern "C" fn cuDeviceGetMemPool(pool: Out<u64>, device: i32) -> u32 {
    pool_of(pool, device, "cuDeviceGetMemPool")
}

pub extern "C" fn cuDeviceSetMemPool(device: i32, pool: u64) -> u32 {
    with_driver("cuDeviceSetMemPool", |driver| {
        driver.gpu(device)?;
        (pool != 0).then_some(()).ok_or(Code::INVALID_VALUE)
    })
}

pub extern "C" fn cuMemPoolCreate(pool: Out<u64>, properties: *const c_void) -> u32 {
    with_driver("cuMemPoolCreate", |_| {
        if properties.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        pool.set(handle())
    })
}

pub extern "C" fn cuMemPoolDestroy(pool: u64) -> u32 {
    with_driver("cuMemPoolDestroy", |_| (pool != 0).then_some(()).ok_or(Code::INVALID_VALUE))
}

/// Freed memory is never kept.
pub extern "C" fn cuMemPoolTrimTo(pool: u64, _keep: usize) -> u32 {
    with_driver("cuMemPoolTrimTo", |_| (pool != 0).then_some(()).ok_or(Code::INVALID_VALUE))
}

pub extern "C" fn cuMemPoolSetAttribute(pool: u64, _attribute: u32, value: *const c_void) -> u32 {
    with_driver("cuMemPoolSetAttribute", |_| {
        if pool == 0 || value.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(())
    })
}
