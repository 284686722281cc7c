//! Copies. A copy that does not say its stream waits for its end.

use super::memory::{Extent, PitchedPointer, read};
use super::{or_default, streamed};
use crate::driver::Driver;
use crate::error::{Answer, Error};
use crate::thread::primary;

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
) -> Answer {
    match kind {
        _ if bytes == 0 => Ok(()),
        HOST_TO_DEVICE => driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
        DEVICE_TO_HOST => driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
        DEVICE_TO_DEVICE => driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
        HOST_TO_HOST | BY_ADDRESS => driver.cuMemcpyAsync(to, from, bytes, stream),
        _ => Err(Error::INVALID_DIRECTION),
    }
}

/// Waits for a stream.
pub(crate) fn finish(driver: &Driver, queued: Answer, stream: u64) -> Answer {
    queued?;
    driver.cuStreamSynchronize(stream)
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
pub struct Cuboid {
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

fn queue_cuboid(driver: &Driver, cuboid: &Cuboid, stream: u64) -> Answer {
    let (to, from) = match cuboid.kind {
        HOST_TO_HOST => (HOST, HOST),
        HOST_TO_DEVICE => (DEVICE, HOST),
        DEVICE_TO_HOST => (HOST, DEVICE),
        DEVICE_TO_DEVICE => (DEVICE, DEVICE),
        BY_ADDRESS => (UNIFIED, UNIFIED),
        _ => return Err(Error::INVALID_DIRECTION),
    };
    if cuboid.from_array != 0 || cuboid.to_array != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    let copy = DriverCopy {
        from: side(from, cuboid.from, cuboid.from_position),
        to: side(to, cuboid.to, cuboid.to_position),
        width: cuboid.extent.width,
        height: cuboid.extent.height,
        depth: cuboid.extent.depth,
    };
    driver.cuMemcpy3DAsync_v2((&raw const copy).cast(), stream)
}

/// A rectangle as a cuboid of one layer.
fn rectangle(
    to: (u64, usize),
    from: (u64, usize),
    (width, height): (usize, usize),
    kind: u32,
) -> Cuboid {
    let start = Position { x: 0, y: 0, z: 0 };
    let at = |(address, pitch)| PitchedPointer {
        address,
        pitch,
        width,
        height,
    };
    Cuboid {
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
) -> Answer {
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
        let it = rectangle((to, to_pitch), (from, from_pitch), (width, height), kind);
        finish(driver, queue_cuboid(driver, &it, stream), stream)
    };
    fn cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32, stream: u64
    ) |driver, default| {
        let it = rectangle((to, to_pitch), (from, from_pitch), (width, height), kind);
        queue_cuboid(driver, &it, or_default(stream, default))
    };
    fn cudaMemcpy3D, cudaMemcpy3D_ptds(cuboid: *const Cuboid) |driver, stream| {
        finish(driver, queue_cuboid(driver, &read(cuboid)?, stream), stream)
    };
    fn cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz(cuboid: *const Cuboid, stream: u64) |driver, default| {
        queue_cuboid(driver, &read(cuboid)?, or_default(stream, default))
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
