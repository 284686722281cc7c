//! Contexts that programs make, and which one is a thread's current one.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use cudarc::driver::sys::{CUfunc_cache, CUlimit};
use emu_driver::process::lock;

use crate::code::{Answer, Code};
use crate::driver::{
    context_of, current, current_context, with_context, with_current, with_driver,
};
use crate::pointers::Out;
use crate::state::Context;
use crate::state::stream::HIGHEST_PRIORITY;

fn create(context: Out<u64>, flags: u32, device: i32, function: &str) -> u32 {
    with_driver(function, |driver| {
        if flags > 0xff {
            return Err(Code::INVALID_VALUE);
        }
        let made = Context::new(driver.gpu(device)?, flags, false);
        context.set(made.handle)?;
        driver.add(&made);
        with_current(|contexts| contexts.push(made.handle));
        Ok(())
    })
}

pub extern "C" fn cuCtxCreate_v2(context: Out<u64>, flags: u32, device: i32) -> u32 {
    create(context, flags, device, "cuCtxCreate_v2")
}

pub extern "C" fn cuCtxCreate_v3(
    context: Out<u64>,
    _affinities: *const c_void,
    _count: i32,
    flags: u32,
    device: i32,
) -> u32 {
    create(context, flags, device, "cuCtxCreate_v3")
}

pub extern "C" fn cuCtxCreate_v4(
    context: Out<u64>,
    _params: *const c_void,
    flags: u32,
    device: i32,
) -> u32 {
    create(context, flags, device, "cuCtxCreate_v4")
}

pub extern "C" fn cuCtxDestroy_v2(context: u64) -> u32 {
    with_driver("cuCtxDestroy_v2", |driver| {
        let destroyed = driver
            .context(context)
            .filter(|context| !context.is_primary);
        driver.destroy(&*destroyed.ok_or(Code::INVALID_CONTEXT)?);
        with_current(|contexts| {
            contexts.pop_if(|last| *last == context);
        });
        Ok(())
    })
}

pub extern "C" fn cuCtxPushCurrent_v2(context: u64) -> u32 {
    with_driver("cuCtxPushCurrent_v2", |driver| {
        driver.context(context).ok_or(Code::INVALID_CONTEXT)?;
        with_current(|contexts| contexts.push(context));
        Ok(())
    })
}

pub extern "C" fn cuCtxPopCurrent_v2(context: Out<u64>) -> u32 {
    with_driver("cuCtxPopCurrent_v2", |_| {
        let popped = with_current(Vec::pop).ok_or(Code::INVALID_CONTEXT)?;
        context.set_if_wanted(popped);
        Ok(())
    })
}

pub extern "C" fn cuCtxSetCurrent(context: u64) -> u32 {
    with_driver("cuCtxSetCurrent", |driver| {
        if context != 0 && driver.context(context).is_none() {
            return Err(Code::INVALID_CONTEXT);
        }
        with_current(|contexts| {
            contexts.pop();
            if context != 0 {
                contexts.push(context);
            }
        });
        Ok(())
    })
}

pub extern "C" fn cuCtxGetCurrent(context: Out<u64>) -> u32 {
    with_driver("cuCtxGetCurrent", |_| context.set(current()))
}

pub extern "C" fn cuCtxGetDevice(device: Out<i32>) -> u32 {
    with_driver("cuCtxGetDevice", |_| {
        device.set(current_context()?.gpu.number)
    })
}

pub extern "C" fn cuCtxGetFlags(flags: Out<u32>) -> u32 {
    with_driver("cuCtxGetFlags", |_| flags.set(current_context()?.flags))
}

pub extern "C" fn cuCtxGetId(context: u64, id: Out<u64>) -> u32 {
    with_driver("cuCtxGetId", |_| id.set(context_of(context)?.handle))
}

/// The version of the API of `cuCtxCreate_v2` and later.
pub extern "C" fn cuCtxGetApiVersion(context: u64, version: Out<u32>) -> u32 {
    with_driver("cuCtxGetApiVersion", |_| {
        context_of(context)?;
        version.set(3020)
    })
}

pub extern "C" fn cuCtxSynchronize() -> u32 {
    with_context("cuCtxSynchronize", |context| context.wait())
}

pub extern "C" fn cuCtxGetStreamPriorityRange(lowest: Out<i32>, highest: Out<i32>) -> u32 {
    with_context("cuCtxGetStreamPriorityRange", |_| {
        lowest.set_if_wanted(0);
        highest.set_if_wanted(HIGHEST_PRIORITY);
        Ok(())
    })
}

/// The defaults of limits that programs may set. They are remembered, and change nothing: a thread's stack
/// has 512 KiB, and the device's heap and output no limit of their own.
const LIMITS: [(CUlimit, usize); 5] = [
    (CUlimit::CU_LIMIT_STACK_SIZE, 1024),
    (CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20),
    (CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20),
    (CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2),
    (CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048),
];

fn limit(which: u32) -> Answer<usize> {
    let known = LIMITS.iter().find(|(known, _)| *known as u32 == which);
    known
        .map(|&(_, value)| value)
        .ok_or(Code::UNSUPPORTED_LIMIT)
}

pub extern "C" fn cuCtxGetLimit(value: Out<usize>, which: u32) -> u32 {
    with_context("cuCtxGetLimit", |context| {
        let default = limit(which)?;
        let set = lock(&context.limits).get(&which).copied();
        value.set(set.unwrap_or(default))
    })
}

pub extern "C" fn cuCtxSetLimit(which: u32, value: usize) -> u32 {
    with_context("cuCtxSetLimit", |context| {
        limit(which)?;
        lock(&context.limits).insert(which, value);
        Ok(())
    })
}

/// There are no caches to configure: what was set is remembered.
pub extern "C" fn cuCtxGetCacheConfig(config: Out<u32>) -> u32 {
    with_context("cuCtxGetCacheConfig", |context| {
        // Relaxed: a number by itself.
        config.set(context.cache_config.load(Ordering::Relaxed))
    })
}

/// Remembers it, and changes nothing.
pub extern "C" fn cuCtxSetCacheConfig(config: u32) -> u32 {
    with_context("cuCtxSetCacheConfig", |context| {
        const LAST: u32 = CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL as u32;
        if config > LAST {
            return Err(Code::INVALID_VALUE);
        }
        context.cache_config.store(config, Ordering::Relaxed);
        Ok(())
    })
}

/// There is no cache to reset.
pub extern "C" fn cuCtxResetPersistingL2Cache() -> u32 {
    with_context("cuCtxResetPersistingL2Cache", |_| Ok(()))
}

/// Nothing is profiled.
pub extern "C" fn cuProfilerStart() -> u32 {
    with_context("cuProfilerStart", |_| Ok(()))
}

/// Nothing was profiled.
pub extern "C" fn cuProfilerStop() -> u32 {
    with_context("cuProfilerStop", |_| Ok(()))
}
