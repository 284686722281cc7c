//! Copies. A copy that does not say its stream waits for its end.

use super::memory::{Extent, PitchedPointer};
use super::{finish, or_default, streamed};
use crate::context::primary;
use crate::driver::Driver;
use crate::error::{CudaResult, Error};
use crate::pointers::read_in;

/// The kinds, `cudaMemcpyKind`.
pub(crate) const HOST_TO_HOST: u32 = 0;
pub(crate) const HOST_TO_DEVICE: u32 = 1;
pub(crate) const DEVICE_TO_HOST: u32 = 2;
pub(crate) const DEVICE_TO_DEVICE: u32 = 3;
pub(crate) const BY_ADDRESS: u32 = 4;

/// Queues a copy of one range.
pub(crate) fn queue(
    driver: &Driver,
    to: u64,
    from: u64,
    bytes: usize,
    kind: u32,
    stream: u64,
) -> CudaResult {
    match kind {
        _ if bytes == 0 => Ok(()),
        HOST_TO_DEVICE => driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
        DEVICE_TO_HOST => driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
        DEVICE_TO_DEVICE => driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
        HOST_TO_HOST | BY_ADDRESS => driver.cuMemcpyAsync(to, from, bytes, stream),
        _ => Err(Error::INVALID_DIRECTION),
    }
}

/// One side of a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
struct DriverSide {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory: u32,
    host: u64,
    device: u64,
    array: u64,
    reserved: u64,
    pitch: usize,
    height: usize,
}

/// A `CUDA_MEMCPY3D`.
#[repr(C)]
struct DriverCopy {
    from: DriverSide,
    to: DriverSide,
    width: usize,
    height: usize,
    depth: usize,
}

/// A `cudaPos`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Position {
    x: usize,
    y: usize,
    z: usize,
}

/// A `cudaMemcpy3DParms`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Copy3d {
    from_array: u64,
    from_position: Position,
    from: PitchedPointer,
    to_array: u64,
    to_position: Position,
    to: PitchedPointer,
    extent: Extent,
    kind: u32,
}

/// The driver's kinds of memory, `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const UNIFIED: u32 = 4;

fn side(memory: u32, at: PitchedPointer, position: Position) -> DriverSide {
    DriverSide {
        x: position.x,
        y: position.y,
        z: position.z,
        level: 0,
        memory,
        host: at.address,
        device: at.address,
        array: 0,
        reserved: 0,
        pitch: at.pitch,
        height: at.height,
    }
}

fn queue_3d(driver: &Driver, copy: &Copy3d, stream: u64) -> CudaResult {
    let (to, from) = match copy.kind {
        HOST_TO_HOST => (HOST, HOST),
        HOST_TO_DEVICE => (DEVICE, HOST),
        DEVICE_TO_HOST => (HOST, DEVICE),
        DEVICE_TO_DEVICE => (DEVICE, DEVICE),
        BY_ADDRESS => (UNIFIED, UNIFIED),
        _ => return Err(Error::INVALID_DIRECTION),
    };
    if copy.from_array != 0 || copy.to_array != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    let driver_copy = DriverCopy {
        from: side(from, copy.from, copy.from_position),
        to: side(to, copy.to, copy.to_position),
        width: copy.extent.width,
        height: copy.extent.height,
        depth: copy.extent.depth,
    };
    driver.cuMemcpy3DAsync_v2((&raw const driver_copy).cast(), stream)
}

/// A rectangle as a copy of one layer.
fn rectangle(
    to: (u64, usize),
    from: (u64, usize),
    (width, height): (usize, usize),
    kind: u32,
) -> Copy3d {
    let start = Position { x: 0, y: 0, z: 0 };
    let at = |(address, pitch)| PitchedPointer {
        address,
        pitch,
        width,
        height,
    };
    Copy3d {
        from_array: 0,
        from_position: start,
        from: at(from),
        to_array: 0,
        to_position: start,
        to: at(to),
        extent: Extent {
            width,
            height,
            depth: 1,
        },
        kind,
    }
}

fn queue_peer(
    driver: &Driver,
    (to, to_device): (u64, i32),
    (from, from_device): (u64, i32),
    bytes: usize,
    stream: u64,
) -> CudaResult {
    let (to_context, from_context) = (primary(driver, to_device)?, primary(driver, from_device)?);
    driver.cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream)
}

streamed! {
    fn cudaMemcpy, cudaMemcpy_ptds(to: u64, from: u64, bytes: usize, kind: u32) |driver, stream| {
        finish(driver, queue(driver, to, from, bytes, kind, stream), stream)
    };
    fn cudaMemcpyAsync, cudaMemcpyAsync_ptsz(
        to: u64, from: u64, bytes: usize, kind: u32, stream: u64
    ) |driver, default| queue(driver, to, from, bytes, kind, or_default(stream, default));
    fn cudaMemcpy2D, cudaMemcpy2D_ptds(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32
    ) |driver, stream| {
        let copy = rectangle((to, to_pitch), (from, from_pitch), (width, height), kind);
        finish(driver, queue_3d(driver, &copy, stream), stream)
    };
    fn cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32, stream: u64
    ) |driver, default| {
        let copy = rectangle((to, to_pitch), (from, from_pitch), (width, height), kind);
        queue_3d(driver, &copy, or_default(stream, default))
    };
    fn cudaMemcpy3D, cudaMemcpy3D_ptds(copy: *const Copy3d) |driver, stream| {
        finish(driver, queue_3d(driver, &read_in(copy)?, stream), stream)
    };
    fn cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz(copy: *const Copy3d, stream: u64) |driver, default| {
        queue_3d(driver, &read_in(copy)?, or_default(stream, default))
    };
}

super::api! {
    fn cudaMemcpyPeer(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize) |driver| {
        let queued = queue_peer(driver, (to, to_device), (from, from_device), bytes, super::LEGACY);
        finish(driver, queued, super::LEGACY)
    };
    fn cudaMemcpyPeerAsync(
        to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: u64
    ) |driver| queue_peer(driver, (to, to_device), (from, from_device), bytes, stream);
}
