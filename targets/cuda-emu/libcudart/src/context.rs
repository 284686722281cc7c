//! Devices and their primary contexts.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use crate::driver::{Driver, initialized_driver};
use crate::error::{CudaResult, Error};
use crate::sync::lock;
use crate::thread::{choose_device, chosen_device};

/// Primary contexts that this library has retained, by device.
static RETAINED: LazyLock<Mutex<HashMap<i32, u64>>> = LazyLock::new(Mutex::default);

/// The primary context of a device. The program may have reset it by the driver's functions, which ends this
/// library's retain, too; then it is retained again.
pub(crate) fn primary(driver: &Driver, device: i32) -> CudaResult<u64> {
    let mut retained = lock(&RETAINED);
    let (mut context, mut flags, mut is_active) = (0, 0, 0);
    driver.cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut is_active)?;
    if is_active == 0 {
        retained.remove(&device);
    }
    if let Err(error) = driver.cuDevicePrimaryCtxRetain(&raw mut context, device) {
        // The emulated driver does not retain a broken context. Its user needs it to reset the device.
        return retained.get(&device).copied().ok_or(error);
    }
    if retained.insert(device, context) == Some(context) {
        // It was this library's already: one retain is enough.
        driver.cuDevicePrimaryCtxRelease_v2(device)?;
    }
    Ok(context)
}

/// The thread's device: that of its current context, or else the one it has set.
pub(crate) fn device(driver: &Driver) -> CudaResult<i32> {
    let (mut context, mut device) = (0, 0);
    driver.cuCtxGetCurrent(&raw mut context)?;
    // It fails for a context that was destroyed by resetting the device.
    if context == 0 || driver.cuCtxGetDevice(&raw mut device).is_err() {
        return Ok(chosen_device());
    }
    Ok(device)
}

/// Makes a device the thread's, with its primary context.
pub(crate) fn set_device(driver: &Driver, device: i32) -> CudaResult {
    driver.cuCtxSetCurrent(primary(driver, device)?)?;
    choose_device(device);
    Ok(())
}

/// Destroys everything on the thread's device.
pub(crate) fn reset_device(driver: &Driver) -> CudaResult {
    let device = device(driver)?;
    // Until the context is gone: a thread that retained it meanwhile would keep a handle of it.
    let mut retained = lock(&RETAINED);
    if retained.remove(&device).is_some() {
        driver.cuCtxSetCurrent(0)?;
        choose_device(device);
    }
    driver.cuDevicePrimaryCtxReset_v2(device)
}

/// The driver, with a current context: the caller's own, or the primary one of the thread's device.
pub(crate) fn in_context() -> CudaResult<&'static Driver> {
    let driver = initialized_driver()?;
    let (mut context, mut device) = (0, 0);
    driver.cuCtxGetCurrent(&raw mut context)?;
    // It fails for a context that another thread has destroyed by resetting the device.
    if context != 0 && driver.cuCtxGetDevice(&raw mut device).is_ok() {
        return Ok(driver);
    }
    let mut count = 0;
    driver.cuDeviceGetCount(&raw mut count)?;
    if count == 0 {
        return Err(Error::NO_DEVICE);
    }
    driver.cuCtxSetCurrent(primary(driver, chosen_device())?)?;
    Ok(driver)
}
