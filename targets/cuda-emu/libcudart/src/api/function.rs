//! Attributes of kernels, and how many blocks fit.

use cudarc::driver::sys::CUfunction_attribute as F;

use super::api;
use crate::driver::Driver;
use crate::error::CudaResult;
use crate::pointers::write_out;
use crate::registry::kernel;

/// A `cudaFuncAttributes`.
#[derive(Default)]
#[repr(C)]
pub struct Attributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    /// In the order of the driver's attributes: threads of a block, registers, versions of PTX and of the
    /// machine code, ..
    numbers: [i32; 6],
    carveout: i32,
    cluster: [i32; 6],
    reserved: [i32; 16],
}

/// The driver's function of a kernel, in the current context.
fn function(driver: &Driver, host: u64) -> CudaResult<u64> {
    let (kernel, mut function) = (kernel(driver, host)?, 0);
    driver.cuKernelGetFunction(&raw mut function, kernel)?;
    Ok(function)
}

fn attributes(driver: &Driver, to: *mut Attributes, host: u64) -> CudaResult {
    let function = function(driver, host)?;
    let get = |attribute: F| {
        let mut value = 0;
        driver.cuFuncGetAttribute(&raw mut value, attribute as u32, function)?;
        Ok(value)
    };
    let found = Attributes {
        shared_bytes: get(F::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? as usize,
        constant_bytes: get(F::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)? as usize,
        local_bytes: get(F::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)? as usize,
        numbers: [
            get(F::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            get(F::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            get(F::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            get(F::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
            get(F::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA)?,
            get(F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
        ],
        carveout: get(F::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)?,
        ..Attributes::default()
    };
    write_out(to, found)
}

api! {
    fn cudaFuncGetAttributes(to: *mut Attributes, host: u64) |driver| attributes(driver, to, host);

    /// The runtime's numbers of attributes are the driver's.
    fn cudaFuncSetAttribute(host: u64, attribute: u32, value: i32) |driver| {
        driver.cuFuncSetAttribute(function(driver, host)?, attribute, value)
    };

    fn cudaFuncSetCacheConfig(host: u64, config: u32) |driver| {
        driver.cuFuncSetCacheConfig(function(driver, host)?, config)
    };

    fn cudaGetFuncBySymbol(to: *mut u64, host: u64) |driver| write_out(to, function(driver, host)?);

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        count: *mut i32, host: u64, block: i32, shared: usize
    ) |driver| {
        let function = function(driver, host)?;
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, block, shared, 0)
    };

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: *mut i32, host: u64, block: i32, shared: usize, flags: u32
    ) |driver| {
        let function = function(driver, host)?;
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, block, shared, flags)
    };

    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize, host: u64, blocks: i32, block: i32
    ) |driver| {
        driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function(driver, host)?, blocks, block)
    };
}
