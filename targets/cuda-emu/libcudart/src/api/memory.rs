//! Memory.

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUpointer_attribute as P,
};

use super::{api, finish, or_default, streamed};
use crate::driver::Driver;
use crate::error::{CudaResult, Error};
use crate::pointers::write_out;

/// A `cudaPitchedPtr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PitchedPointer {
    pub(crate) address: u64,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A `cudaExtent`: bytes, rows, layers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// A `cudaPointerAttributes`.
#[repr(C)]
pub struct PointerAttributes {
    kind: u32,
    device: i32,
    on_device: u64,
    on_host: u64,
}

/// The size of the elements for which the driver pads rows, in bytes.
const PITCH_ELEMENT: u32 = 16;

fn malloc(driver: &Driver, address: *mut u64, bytes: usize) -> CudaResult {
    if bytes == 0 {
        return write_out(address, 0);
    }
    driver.cuMemAlloc_v2(address, bytes)
}

fn malloc_3d(driver: &Driver, to: *mut PitchedPointer, extent: Extent) -> CudaResult {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let (mut address, mut pitch) = (0, 0);
    let rows = extent
        .height
        .checked_mul(extent.depth)
        .ok_or(Error::INVALID_VALUE)?;
    driver.cuMemAllocPitch_v2(
        &raw mut address,
        &raw mut pitch,
        extent.width,
        rows,
        PITCH_ELEMENT,
    )?;
    let made = PitchedPointer {
        address,
        pitch,
        width: extent.width,
        height: extent.height,
    };
    write_out(to, made)
}

/// The kinds of memory, `cudaMemoryType`: ordinary memory of the host, pinned memory, device memory, managed
/// memory.
const UNREGISTERED: u32 = 0;
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const MANAGED: u32 = 3;

/// An attribute of an address, if the driver knows it.
fn attribute(driver: &Driver, address: u64, attribute: P) -> Option<u64> {
    let mut value = 0u64;
    let to = (&raw mut value).cast();
    driver
        .cuPointerGetAttribute(to, attribute as u32, address)
        .is_ok()
        .then_some(value)
}

/// The kind of the memory at an address.
fn kind(driver: &Driver, address: u64) -> u32 {
    let Some(kind) = attribute(driver, address, P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) else {
        return UNREGISTERED;
    };
    match attribute(driver, address, P::CU_POINTER_ATTRIBUTE_IS_MANAGED) {
        Some(is_managed) if is_managed & 0xff != 0 => MANAGED,
        _ if kind as u32 == HOST => HOST,
        _ => DEVICE,
    }
}

/// Waits for a fill that has been queued, if the host can access the memory. Source: the CUDA Runtime API, "API
/// synchronization behavior".
fn finish_fill(driver: &Driver, queued: CudaResult, address: u64, stream: u64) -> CudaResult {
    match kind(driver, address) {
        HOST | MANAGED => finish(driver, queued, stream),
        _ => queued,
    }
}

/// Memory that the driver does not know is ordinary memory of the host, and no error.
fn attributes(driver: &Driver, to: *mut PointerAttributes, address: u64) -> CudaResult {
    let number = |which| attribute(driver, address, which);
    let kind = kind(driver, address);
    let is_known = kind != UNREGISTERED;
    let found = PointerAttributes {
        kind,
        device: number(P::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL).map_or(-2, |device| device as i32),
        on_device: number(P::CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
            .filter(|_| is_known)
            .unwrap_or(0),
        on_host: match kind {
            UNREGISTERED => address,
            _ => number(P::CU_POINTER_ATTRIBUTE_HOST_POINTER).unwrap_or(0),
        },
    };
    write_out(to, found)
}

/// Programs free a null pointer to initialise the runtime.
fn free(driver: &Driver, address: u64) -> CudaResult {
    match address {
        0 => Ok(()),
        _ => driver.cuMemFree_v2(address),
    }
}

api! {
    fn cudaMalloc(address: *mut u64, bytes: usize) |driver| malloc(driver, address, bytes);
    fn cudaFree(address: u64) |driver| free(driver, address);
    fn cudaMallocHost(host: *mut u64, bytes: usize) |driver| {
        driver.cuMemHostAlloc(host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)
    };
    fn cudaHostAlloc(host: *mut u64, bytes: usize, flags: u32) |driver| {
        driver.cuMemHostAlloc(host, bytes, flags | CU_MEMHOSTALLOC_DEVICEMAP)
    };
    fn cudaFreeHost(host: u64) |driver| if host == 0 { Ok(()) } else { driver.cuMemFreeHost(host) };
    fn cudaHostRegister(host: u64, bytes: usize, flags: u32) |driver| {
        driver.cuMemHostRegister_v2(host, bytes, flags)
    };
    fn cudaHostUnregister(host: u64) |driver| driver.cuMemHostUnregister(host);
    fn cudaHostGetDevicePointer(address: *mut u64, host: u64, flags: u32) |driver| {
        driver.cuMemHostGetDevicePointer_v2(address, host, flags)
    };
    fn cudaHostGetFlags(flags: *mut u32, host: u64) |driver| driver.cuMemHostGetFlags(flags, host);
    fn cudaMallocManaged(address: *mut u64, bytes: usize, flags: u32) |driver| {
        driver.cuMemAllocManaged(address, bytes, flags)
    };
    fn cudaMallocPitch(address: *mut u64, pitch: *mut usize, width: usize, height: usize) |driver| {
        driver.cuMemAllocPitch_v2(address, pitch, width, height, PITCH_ELEMENT)
    };
    fn cudaMalloc3D(to: *mut PitchedPointer, extent: Extent) |driver| malloc_3d(driver, to, extent);
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) |driver| driver.cuMemGetInfo_v2(free, total);
    fn cudaPointerGetAttributes(to: *mut PointerAttributes, address: u64) |driver| {
        attributes(driver, to, address)
    };
    fn cudaMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) |driver| {
        driver.cuMemAdvise(address, bytes, advice, device)
    };
}

streamed! {
    fn cudaMallocAsync, cudaMallocAsync_ptsz(address: *mut u64, bytes: usize, stream: u64) |driver, default| {
        driver.cuMemAllocAsync(address, bytes, or_default(stream, default))
    };
    fn cudaFreeAsync, cudaFreeAsync_ptsz(address: u64, stream: u64) |driver, default| {
        driver.cuMemFreeAsync(address, or_default(stream, default))
    };
    fn cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz(
        address: u64, bytes: usize, device: i32, stream: u64
    ) |driver, default| driver.cuMemPrefetchAsync(address, bytes, device, or_default(stream, default));
    fn cudaMemset, cudaMemset_ptds(address: u64, value: i32, bytes: usize) |driver, stream| {
        let queued = driver.cuMemsetD8Async(address, value as u8, bytes, stream);
        finish_fill(driver, queued, address, stream)
    };
    fn cudaMemsetAsync, cudaMemsetAsync_ptsz(
        address: u64, value: i32, bytes: usize, stream: u64
    ) |driver, default| driver.cuMemsetD8Async(address, value as u8, bytes, or_default(stream, default));
    fn cudaMemset2D, cudaMemset2D_ptds(
        address: u64, pitch: usize, value: i32, width: usize, height: usize
    ) |driver, stream| {
        let queued = driver.cuMemsetD2D8Async(address, pitch, value as u8, width, height, stream);
        finish_fill(driver, queued, address, stream)
    };
    fn cudaMemset2DAsync, cudaMemset2DAsync_ptsz(
        address: u64, pitch: usize, value: i32, width: usize, height: usize, stream: u64
    ) |driver, default| {
        driver.cuMemsetD2D8Async(address, pitch, value as u8, width, height, or_default(stream, default))
    };
}
