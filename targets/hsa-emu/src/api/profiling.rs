//! Times of kernels and copies, which are always kept.

use hsa_runtime_sys::*;

use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

fn times(runtime: &Runtime, signal: hsa_signal_t) -> Answer<(u64, u64)> {
    let times = runtime.signals.get(signal)?.operation_times();
    times.ok_or(Status::ERROR)
}

pub extern "C" fn hsa_amd_profiling_set_profiler_enabled(
    queue: *mut hsa_queue_t,
    enable: i32,
) -> hsa_status_t {
    answer("hsa_amd_profiling_set_profiler_enabled", |runtime| {
        runtime.gpu_queue(queue)?.set_profiled(enable != 0);
        Ok(())
    })
}

pub extern "C" fn hsa_amd_profiling_async_copy_enable(_enable: bool) -> hsa_status_t {
    answer("hsa_amd_profiling_async_copy_enable", |_| Ok(()))
}

pub extern "C" fn hsa_amd_profiling_get_dispatch_time(
    agent: hsa_agent_t,
    signal: hsa_signal_t,
    time: Out<hsa_amd_profiling_dispatch_time_t>,
) -> hsa_status_t {
    answer("hsa_amd_profiling_get_dispatch_time", |runtime| {
        runtime.gpu(agent)?;
        let (start, end) = times(runtime, signal)?;
        time.set(hsa_amd_profiling_dispatch_time_t { start, end })
    })
}

pub extern "C" fn hsa_amd_profiling_get_async_copy_time(
    signal: hsa_signal_t,
    time: Out<hsa_amd_profiling_async_copy_time_t>,
) -> hsa_status_t {
    answer("hsa_amd_profiling_get_async_copy_time", |runtime| {
        let (start, end) = times(runtime, signal)?;
        time.set(hsa_amd_profiling_async_copy_time_t { start, end })
    })
}

pub extern "C" fn hsa_amd_profiling_convert_tick_to_system_domain(
    agent: hsa_agent_t,
    tick: u64,
    system: Out<u64>,
) -> hsa_status_t {
    answer(
        "hsa_amd_profiling_convert_tick_to_system_domain",
        |runtime| {
            runtime.gpu(agent)?;
            // All agents share one clock.
            system.set(tick)
        },
    )
}
