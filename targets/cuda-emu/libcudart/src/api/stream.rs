//! Streams.

use std::ffi::c_void;

use super::{api, or_default, streamed};
use crate::driver::Callback;

api! {
    fn cudaStreamCreate(stream: *mut u64) |driver| driver.cuStreamCreateWithPriority(stream, 0, 0);
    fn cudaStreamCreateWithFlags(stream: *mut u64, flags: u32) |driver| {
        driver.cuStreamCreateWithPriority(stream, flags, 0)
    };
    fn cudaStreamCreateWithPriority(stream: *mut u64, flags: u32, priority: i32) |driver| {
        driver.cuStreamCreateWithPriority(stream, flags, priority)
    };
    fn cudaStreamDestroy(stream: u64) |driver| driver.cuStreamDestroy_v2(stream);
    fn cudaDeviceGetStreamPriorityRange(lowest: *mut i32, highest: *mut i32) |driver| {
        driver.cuCtxGetStreamPriorityRange(lowest, highest)
    };
}

streamed! {
    fn cudaStreamSynchronize, cudaStreamSynchronize_ptsz(stream: u64) |driver, default| {
        driver.cuStreamSynchronize(or_default(stream, default))
    };
    fn cudaStreamQuery, cudaStreamQuery_ptsz(stream: u64) |driver, default| {
        driver.cuStreamQuery(or_default(stream, default))
    };
    fn cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz(stream: u64, event: u64, flags: u32) |driver, default| {
        driver.cuStreamWaitEvent(or_default(stream, default), event, flags)
    };
    /// The driver's codes are the runtime's.
    fn cudaStreamAddCallback, cudaStreamAddCallback_ptsz(
        stream: u64, function: Callback, data: *mut c_void, flags: u32
    ) |driver, default| driver.cuStreamAddCallback(or_default(stream, default), function, data, flags);
    fn cudaStreamGetFlags, cudaStreamGetFlags_ptsz(stream: u64, flags: *mut u32) |driver, default| {
        driver.cuStreamGetFlags(or_default(stream, default), flags)
    };
    fn cudaStreamGetPriority, cudaStreamGetPriority_ptsz(stream: u64, priority: *mut i32) |driver, default| {
        driver.cuStreamGetPriority(or_default(stream, default), priority)
    };
    fn cudaStreamGetId, cudaStreamGetId_ptsz(stream: u64, id: *mut u64) |driver, default| {
        driver.cuStreamGetId(or_default(stream, default), id)
    };
    fn cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz(stream: u64, status: *mut u32) |driver, default| {
        driver.cuStreamIsCapturing(or_default(stream, default), status)
    };
}
