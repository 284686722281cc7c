//! Devices.

use std::ffi::{c_char, c_void};

use super::api;
use super::properties::{Properties, properties};
use crate::context::{device, in_context, primary, reset_device, set_device};
use crate::driver::{Driver, driver, initialized_driver};
use crate::error::{CudaResult, Error};
use crate::pointers::write_out;
use crate::result::to_c;

/// The version of the runtime whose functions these are.
const VERSION: i32 = 12_090;

fn count(to: *mut i32) -> CudaResult {
    // A driver without devices fails with `NO_DEVICE` itself, or counts none.
    let mut count = 0;
    initialized_driver()?.cuDeviceGetCount(&raw mut count)?;
    write_out(to, count)?;
    if count == 0 {
        Err(Error::NO_DEVICE)
    } else {
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceCount(to: *mut i32) -> u32 {
    to_c(|| count(to))
}

/// 0 if there is no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDriverGetVersion(to: *mut i32) -> u32 {
    to_c(|| match driver() {
        Ok(driver) => driver.cuDriverGetVersion(to),
        Err(_) => write_out(to, 0),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaRuntimeGetVersion(to: *mut i32) -> u32 {
    to_c(|| write_out(to, VERSION))
}

/// The device with a number.
fn existing(driver: &Driver, ordinal: i32) -> CudaResult<i32> {
    let mut device = 0;
    driver.cuDeviceGet(&raw mut device, ordinal)?;
    Ok(device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(ordinal: i32) -> u32 {
    to_c(|| {
        let driver = initialized_driver()?;
        set_device(driver, existing(driver, ordinal)?)
    })
}

/// Starts the runtime on a device, which does not become the thread's.
#[unsafe(no_mangle)]
pub extern "C" fn cudaInitDevice(ordinal: i32, _flags: u32, _are_valid: u32) -> u32 {
    to_c(|| {
        let driver = initialized_driver()?;
        primary(driver, existing(driver, ordinal)?).map(drop)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDevice(to: *mut i32) -> u32 {
    to_c(|| write_out(to, device(initialized_driver()?)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceReset() -> u32 {
    to_c(|| reset_device(initialized_driver()?))
}

/// The old name of `cudaDeviceReset`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadExit() -> u32 {
    cudaDeviceReset()
}

fn synchronize() -> CudaResult {
    in_context()?.cuCtxSynchronize()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSynchronize() -> u32 {
    to_c(synchronize)
}

/// The old name of `cudaDeviceSynchronize`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSynchronize() -> u32 {
    to_c(synchronize)
}

/// The runtime's numbers of attributes are the driver's.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetAttribute(to: *mut i32, attribute: u32, ordinal: i32) -> u32 {
    to_c(|| initialized_driver()?.cuDeviceGetAttribute(to, attribute, ordinal))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties_v2(to: *mut Properties, ordinal: i32) -> u32 {
    to_c(|| {
        let driver = initialized_driver()?;
        write_out(to, properties(driver, existing(driver, ordinal)?)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetPCIBusId(id: *mut c_char, room: i32, ordinal: i32) -> u32 {
    to_c(|| initialized_driver()?.cuDeviceGetPCIBusId(id, room, ordinal))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetByPCIBusId(to: *mut i32, id: *const c_char) -> u32 {
    to_c(|| initialized_driver()?.cuDeviceGetByPCIBusId(to, id))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceCanAccessPeer(can: *mut i32, ordinal: i32, peer: i32) -> u32 {
    to_c(|| initialized_driver()?.cuDeviceCanAccessPeer(can, ordinal, peer))
}

/// Flags of a device that is in use already.
fn flags(driver: &Driver) -> CudaResult<u32> {
    let (mut flags, mut active) = (0, 0);
    driver.cuDevicePrimaryCtxGetState(device(driver)?, &raw mut flags, &raw mut active)?;
    Ok(flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceFlags(to: *mut u32) -> u32 {
    to_c(|| write_out(to, flags(initialized_driver()?)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDeviceFlags(flags: u32) -> u32 {
    to_c(|| {
        let driver = initialized_driver()?;
        driver.cuDevicePrimaryCtxSetFlags_v2(device(driver)?, flags)
    })
}

api! {
    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) |driver| {
        driver.cuCtxEnablePeerAccess(primary(driver, existing(driver, peer)?)?, flags)
    };
    fn cudaDeviceDisablePeerAccess(peer: i32) |driver| {
        driver.cuCtxDisablePeerAccess(primary(driver, existing(driver, peer)?)?)
    };
    fn cudaDeviceGetLimit(value: *mut usize, limit: u32) |driver| driver.cuCtxGetLimit(value, limit);
    fn cudaDeviceSetLimit(limit: u32, value: usize) |driver| driver.cuCtxSetLimit(limit, value);
    fn cudaDeviceGetCacheConfig(config: *mut u32) |driver| driver.cuCtxGetCacheConfig(config);
    fn cudaDeviceSetCacheConfig(config: u32) |driver| driver.cuCtxSetCacheConfig(config);

    /// The old names of the four.
    fn cudaThreadGetLimit(value: *mut usize, limit: u32) |driver| driver.cuCtxGetLimit(value, limit);
    fn cudaThreadSetLimit(limit: u32, value: usize) |driver| driver.cuCtxSetLimit(limit, value);
    fn cudaThreadGetCacheConfig(config: *mut u32) |driver| driver.cuCtxGetCacheConfig(config);
    fn cudaThreadSetCacheConfig(config: u32) |driver| driver.cuCtxSetCacheConfig(config);
}

api! {
    fn cudaProfilerStart() |driver| driver.cuProfilerStart();
    fn cudaProfilerStop() |driver| driver.cuProfilerStop();
}

/// Flags of `cuGetProcAddress`: functions whose default stream is the calling thread's.
const PER_THREAD_STREAM: u64 = 2;

/// The address of one of the driver's functions, in a version of CUDA. `default` are the flags of 0.
fn entry_point(
    name: *const c_char,
    found: *mut *mut c_void,
    version: i32,
    (flags, default): (u64, u64),
    status: *mut u32,
) -> CudaResult {
    let flags = if flags == 0 { default } else { flags };
    driver()?.cuGetProcAddress_v2(name, found, version, flags, status)
}

/// The functions under both names; the second is that of programs whose default stream is the thread's.
macro_rules! entry_points {
    ($($name:ident, $by_version:ident: $default:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            name: *const c_char,
            found: *mut *mut c_void,
            flags: u64,
            status: *mut u32,
        ) -> u32 {
            to_c(|| entry_point(name, found, VERSION, (flags, $default), status))
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $by_version(
            name: *const c_char,
            found: *mut *mut c_void,
            version: u32,
            flags: u64,
            status: *mut u32,
        ) -> u32 {
            to_c(|| entry_point(name, found, version as i32, (flags, $default), status))
        }
    )*};
}

entry_points! {
    cudaGetDriverEntryPoint, cudaGetDriverEntryPointByVersion: 0;
    cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPointByVersion_ptsz: PER_THREAD_STREAM;
}
