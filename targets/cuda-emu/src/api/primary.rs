//! Primary contexts, which all users of a device in a process share.

use emu_driver::process::lock;

use crate::code::Code;
use crate::driver::with_driver;
use crate::pointers::Out;
use crate::state::Context;

pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: i32) -> u32 {
    with_driver("cuDevicePrimaryCtxRetain", |driver| {
        let gpu = driver.gpu(device)?;
        let mut primary = lock(&gpu.primary);
        let retained = match &primary.context {
            Some(retained) => retained.clone(),
            None => Context::new(gpu.clone(), primary.flags, true),
        };
        if let Some(code) = retained.progress.broken() {
            return Err(code);
        }
        context.set(retained.handle)?;
        driver.add(&retained);
        primary.context = Some(retained);
        primary.retained += 1;
        Ok(())
    })
}

pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32 {
    with_driver("cuDevicePrimaryCtxRelease_v2", |driver| {
        let gpu = driver.gpu(device)?;
        let mut primary = lock(&gpu.primary);
        let retained = primary.retained.checked_sub(1);
        primary.retained = retained.ok_or(Code::INVALID_CONTEXT)?;
        if primary.retained == 0
            && let Some(context) = primary.context.take()
        {
            drop(primary);
            driver.destroy(&context);
        }
        Ok(())
    })
}

/// Destroys it for all users.
pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: i32) -> u32 {
    with_driver("cuDevicePrimaryCtxReset_v2", |driver| {
        let gpu = driver.gpu(device)?;
        let mut primary = lock(&gpu.primary);
        primary.retained = 0;
        let context = primary.context.take();
        drop(primary);
        if let Some(context) = context {
            driver.destroy(&context);
        }
        Ok(())
    })
}

pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) -> u32 {
    with_driver("cuDevicePrimaryCtxSetFlags_v2", |driver| {
        let gpu = driver.gpu(device)?;
        if flags > 0xff {
            return Err(Code::INVALID_VALUE);
        }
        lock(&gpu.primary).flags = flags;
        Ok(())
    })
}

pub extern "C" fn cuDevicePrimaryCtxGetState(
    device: i32,
    flags: Out<u32>,
    active: Out<i32>,
) -> u32 {
    with_driver("cuDevicePrimaryCtxGetState", |driver| {
        let gpu = driver.gpu(device)?;
        let primary = lock(&gpu.primary);
        flags.set(primary.flags)?;
        active.set(i32::from(primary.context.is_some()))
    })
}
