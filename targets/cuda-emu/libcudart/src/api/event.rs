//! Events.

use super::{api, or_default, streamed};

api! {
    fn cudaEventCreate(event: *mut u64) |driver| driver.cuEventCreate(event, 0);
    fn cudaEventCreateWithFlags(event: *mut u64, flags: u32) |driver| driver.cuEventCreate(event, flags);
    fn cudaEventQuery(event: u64) |driver| driver.cuEventQuery(event);
    fn cudaEventSynchronize(event: u64) |driver| driver.cuEventSynchronize(event);
    fn cudaEventDestroy(event: u64) |driver| driver.cuEventDestroy_v2(event);
    fn cudaEventElapsedTime(milliseconds: *mut f32, from: u64, to: u64) |driver| {
        driver.cuEventElapsedTime(milliseconds, from, to)
    };
    fn cudaEventElapsedTime_v2(milliseconds: *mut f32, from: u64, to: u64) |driver| {
        driver.cuEventElapsedTime(milliseconds, from, to)
    };
}

streamed! {
    fn cudaEventRecord, cudaEventRecord_ptsz(event: u64, stream: u64) |driver, default| {
        driver.cuEventRecordWithFlags(event, or_default(stream, default), 0)
    };
    fn cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz(
        event: u64, stream: u64, flags: u32
    ) |driver, default| driver.cuEventRecordWithFlags(event, or_default(stream, default), flags);
}
