//! Variables of the program on the device.

use super::copy::{BY_ADDRESS, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, queue};
use super::{api, finish, or_default, streamed};
use crate::driver::Driver;
use crate::error::{CudaResult, Error};
use crate::pointers::write_out;
use crate::registry::variable;

/// The device's address of a part of a variable.
fn part(driver: &Driver, host: u64, offset: usize, bytes: usize) -> CudaResult<u64> {
    let (address, size) = variable(driver, host)?;
    let end = offset.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
    (end <= size)
        .then_some(address + offset as u64)
        .ok_or(Error::INVALID_VALUE)
}

fn to_symbol(
    driver: &Driver,
    host: u64,
    from: u64,
    (bytes, offset): (usize, usize),
    kind: u32,
    stream: u64,
) -> CudaResult {
    if ![HOST_TO_DEVICE, DEVICE_TO_DEVICE, BY_ADDRESS].contains(&kind) {
        return Err(Error::INVALID_DIRECTION);
    }
    queue(
        driver,
        part(driver, host, offset, bytes)?,
        from,
        bytes,
        kind,
        stream,
    )
}

fn from_symbol(
    driver: &Driver,
    to: u64,
    host: u64,
    (bytes, offset): (usize, usize),
    kind: u32,
    stream: u64,
) -> CudaResult {
    if ![DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS].contains(&kind) {
        return Err(Error::INVALID_DIRECTION);
    }
    queue(
        driver,
        to,
        part(driver, host, offset, bytes)?,
        bytes,
        kind,
        stream,
    )
}

streamed! {
    fn cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds(
        host: u64, from: u64, bytes: usize, offset: usize, kind: u32
    ) |driver, stream| finish(driver, to_symbol(driver, host, from, (bytes, offset), kind, stream), stream);
    fn cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz(
        host: u64, from: u64, bytes: usize, offset: usize, kind: u32, stream: u64
    ) |driver, default| {
        to_symbol(driver, host, from, (bytes, offset), kind, or_default(stream, default))
    };
    fn cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds(
        to: u64, host: u64, bytes: usize, offset: usize, kind: u32
    ) |driver, stream| finish(driver, from_symbol(driver, to, host, (bytes, offset), kind, stream), stream);
    fn cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz(
        to: u64, host: u64, bytes: usize, offset: usize, kind: u32, stream: u64
    ) |driver, default| {
        from_symbol(driver, to, host, (bytes, offset), kind, or_default(stream, default))
    };
}

api! {
    fn cudaGetSymbolAddress(address: *mut u64, host: u64) |driver| write_out(address, variable(driver, host)?.0);
    fn cudaGetSymbolSize(bytes: *mut usize, host: u64) |driver| write_out(bytes, variable(driver, host)?.1);
}
