//! What each thread has: its device, its last error and its pending launches; and the result of a call.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::driver::{Driver, started};
use crate::error::{Answer, Error};

/// A `dim3`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// What `<<<>>>` contains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: usize,
    pub(crate) stream: u64,
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// Never dropped: programs call the runtime while they exit, too.
    static PENDING: RefCell<ManuallyDrop<Vec<Configuration>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

pub(crate) fn last_error() -> u32 {
    LAST.get()
}

pub(crate) fn set_last_error(error: u32) {
    LAST.set(error);
}

pub(crate) fn push(configuration: Configuration) {
    PENDING.with_borrow_mut(|pending| pending.push(configuration));
}

pub(crate) fn pop() -> Option<Configuration> {
    PENDING.with_borrow_mut(|pending| pending.pop())
}

/// Locks a mutex; a panic of another thread has left no partial change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function's result in C's form, which is also the thread's last error if it is one.
pub(crate) fn answer(run: impl FnOnce() -> Answer) -> u32 {
    // A panic must not reach C.
    let answer = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Error(999)));
    let Err(error) = answer else { return 0 };
    // "Not ready" is no error, and stays out of `cudaGetLastError`.
    if error != Error::NOT_READY {
        LAST.set(error.0);
    }
    error.0
}

/// Primary contexts that this library has retained, by device.
static RETAINED: LazyLock<Mutex<HashMap<i32, u64>>> = LazyLock::new(Mutex::default);

/// The primary context of a device. The program may have reset it by the driver's functions, which ends this
/// library's retain, too; then it is retained again.
pub(crate) fn primary(driver: &Driver, device: i32) -> Answer<u64> {
    let mut retained = lock(&RETAINED);
    let (mut context, mut flags, mut is_active) = (0, 0, 0);
    driver.cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut is_active)?;
    if is_active == 0 {
        retained.remove(&device);
    }
    driver.cuDevicePrimaryCtxRetain(&raw mut context, device)?;
    if retained.insert(device, context) == Some(context) {
        // It was this library's already: one retain is enough.
        driver.cuDevicePrimaryCtxRelease_v2(device)?;
    }
    Ok(context)
}

/// The thread's device: that of its current context, or else the one it has set.
pub(crate) fn device(driver: &Driver) -> Answer<i32> {
    let (mut context, mut device) = (0, 0);
    driver.cuCtxGetCurrent(&raw mut context)?;
    if context == 0 {
        return Ok(DEVICE.get());
    }
    driver.cuCtxGetDevice(&raw mut device)?;
    Ok(device)
}

/// Makes a device the thread's, with its primary context.
pub(crate) fn set_device(driver: &Driver, device: i32) -> Answer {
    driver.cuCtxSetCurrent(primary(driver, device)?)?;
    DEVICE.set(device);
    Ok(())
}

/// Destroys everything on the thread's device.
pub(crate) fn reset_device(driver: &Driver) -> Answer {
    let device = device(driver)?;
    // Until the context is gone: a thread that retained it meanwhile would keep a handle of it.
    let mut retained = lock(&RETAINED);
    if retained.remove(&device).is_some() {
        driver.cuCtxSetCurrent(0)?;
        DEVICE.set(device);
    }
    driver.cuDevicePrimaryCtxReset_v2(device)
}

/// The driver, with a current context: the caller's own, or the primary one of the thread's device.
pub(crate) fn in_context() -> Answer<&'static Driver> {
    let driver = started()?;
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
    driver.cuCtxSetCurrent(primary(driver, DEVICE.get())?)?;
    Ok(driver)
}
