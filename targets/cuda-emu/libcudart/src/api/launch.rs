//! Launches.

use std::ffi::c_void;

use super::{or_default, streamed};
use crate::driver::{Driver, HostFunction};
use crate::error::{CudaResult, Error};
use crate::pointers::read_in;
use crate::registry::kernel;
use crate::thread::Dim3;

/// Parameters: an address for each.
type Params = *const *const c_void;

/// For a grid, a block or an amount of shared memory out of bounds, the runtime has a code of its own.
fn map_launch_error(result: CudaResult) -> CudaResult {
    result.map_err(|error| match error {
        Error::INVALID_VALUE => Error::INVALID_CONFIGURATION,
        other => other,
    })
}

fn bytes(shared: usize) -> CudaResult<u32> {
    u32::try_from(shared).map_err(|_| Error::INVALID_CONFIGURATION)
}

fn launch(
    driver: &Driver,
    host: u64,
    grid: Dim3,
    block: Dim3,
    params: Params,
    shared: usize,
    stream: u64,
) -> CudaResult {
    let (kernel, shared) = (kernel(driver, host)?, bytes(shared)?);
    let none = std::ptr::null();
    map_launch_error(driver.cuLaunchKernel(
        kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params, none,
    ))
}

fn launch_cooperative(
    driver: &Driver,
    host: u64,
    grid: Dim3,
    block: Dim3,
    params: Params,
    shared: usize,
    stream: u64,
) -> CudaResult {
    let (kernel, shared) = (kernel(driver, host)?, bytes(shared)?);
    map_launch_error(driver.cuLaunchCooperativeKernel(
        kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params,
    ))
}

/// A `cudaLaunchConfig_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
    attributes: *const c_void,
    count: u32,
}

/// A `CUlaunchConfig`.
#[repr(C)]
struct DriverConfig {
    grid: Dim3,
    block: Dim3,
    shared: u32,
    stream: u64,
    /// The runtime's attributes are the driver's.
    attributes: *const c_void,
    count: u32,
}

fn launch_with(
    driver: &Driver,
    config: *const LaunchConfig,
    host: u64,
    params: Params,
    default: u64,
) -> CudaResult {
    let config = read_in(config)?;
    let of_driver = DriverConfig {
        grid: config.grid,
        block: config.block,
        shared: bytes(config.shared)?,
        stream: or_default(config.stream, default),
        attributes: config.attributes,
        count: config.count,
    };
    let (kernel, none) = (kernel(driver, host)?, std::ptr::null());
    map_launch_error(driver.cuLaunchKernelEx((&raw const of_driver).cast(), kernel, params, none))
}

streamed! {
    fn cudaLaunchKernel, cudaLaunchKernel_ptsz(
        function: u64, grid: Dim3, block: Dim3, params: Params, shared: usize, stream: u64
    ) |driver, default| launch(driver, function, grid, block, params, shared, or_default(stream, default));

    fn __cudaLaunchKernel, __cudaLaunchKernel_ptsz(
        function: u64, grid: Dim3, block: Dim3, params: Params, shared: usize, stream: u64
    ) |driver, default| launch(driver, function, grid, block, params, shared, or_default(stream, default));

    fn cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz(
        function: u64, grid: Dim3, block: Dim3, params: Params, shared: usize, stream: u64
    ) |driver, default| launch_cooperative(driver, function, grid, block, params, shared, or_default(stream, default));

    fn cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz(
        config: *const LaunchConfig, function: u64, params: Params
    ) |driver, default| launch_with(driver, config, function, params, default);

    fn cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz(
        stream: u64, function: HostFunction, data: *mut c_void
    ) |driver, default| driver.cuLaunchHostFunc(or_default(stream, default), function, data);
}
