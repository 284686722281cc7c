//! Signals that a program destroys while something waits for them, and copies without end: errors, and nothing hangs.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};

use hsa_runtime_sys::*;

use crate::gpu::{
    COARSE, FINE, Gpu, alloc, comes_to_zero, cpu, destroy, free, hsa, is, pool_of, signal, store,
    wait_for, works,
};
use crate::queue::{Queue, barrier};

fn gpu() -> Gpu {
    Gpu::with(hsa_emu::Arch::Gfx90a, false)
}

#[test]
fn a_group_with_a_signal_that_is_gone_is_an_error() {
    let gpu = gpu();
    let (one, mut group) = (signal(1), hsa_signal_group_t { handle: 0 });
    works(hsa!(hsa_signal_group_create(
        1 => u32, &raw const one => *const hsa_signal_t, 1 => u32, &raw const gpu.agent => *const hsa_agent_t,
        &raw mut group => *mut hsa_signal_group_t
    )));
    works(destroy(one));
    let (mut found, mut value, condition) = (one, 0i64, HSA_SIGNAL_CONDITION_EQ);
    is(
        hsa!(hsa_signal_group_wait_any_scacquire(
            group => hsa_signal_group_t, &raw const condition => *const u32,
            &raw const value => *const i64, HSA_WAIT_STATE_BLOCKED => u32,
            &raw mut found => *mut hsa_signal_t, &raw mut value => *mut i64
        )),
        HSA_STATUS_ERROR_INVALID_SIGNAL,
    );
    works(hsa!(hsa_signal_group_destroy(group => hsa_signal_group_t)));
}

#[test]
fn a_copy_after_a_signal_that_is_gone_fails_and_later_ones_do_not() {
    let gpu = gpu();
    let (memory, host) = (gpu.alloc(8), gpu.alloc_shared(8));
    let copy = |after: &[hsa_signal_t], done: hsa_signal_t| {
        let list = if after.is_empty() {
            null()
        } else {
            after.as_ptr()
        };
        works(hsa!(hsa_amd_memory_async_copy(
            memory => *mut c_void, gpu.agent => hsa_agent_t, host => *const c_void, cpu() => hsa_agent_t,
            8 => usize, after.len() as u32 => u32, list => *const hsa_signal_t, done => hsa_signal_t
        )));
    };
    let (after, first, second) = (signal(1), signal(1), signal(1));
    copy(&[after], first);
    copy(&[], second);
    works(destroy(after));
    assert_eq!(wait_for(first, -1, 20_000), -1);
    comes_to_zero(second);
    for signal in [first, second] {
        works(destroy(signal));
    }
    works(free(memory));
    works(free(host));
}

#[test]
fn a_packet_that_waits_for_a_signal_that_is_gone_stops_its_queue() {
    let gpu = gpu();
    let queue = Queue::new(&gpu, 16);
    let after = signal(1);
    queue.push(&barrier(
        HSA_PACKET_TYPE_BARRIER_AND,
        &[after],
        hsa_signal_t { handle: 0 },
    ));
    // The packet waits, or will find no signal.
    works(destroy(after));
    assert_eq!(queue.wait_for_failure(), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

/// Handlers are called one after the other: the second one comes after the first one was dropped.
#[test]
fn a_handler_of_a_signal_that_is_gone_is_not_called() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn count(_: i64, step: *mut c_void) -> bool {
        CALLS.fetch_add(step.addr() as u32, Ordering::AcqRel);
        false
    }
    let _gpu = gpu();
    let handle = |signal: hsa_signal_t, step: usize| {
        works(hsa!(hsa_amd_signal_async_handler(
            signal => hsa_signal_t, HSA_SIGNAL_CONDITION_EQ => u32, 0 => i64,
            count => extern "C" fn(i64, *mut c_void) -> bool,
            std::ptr::without_provenance_mut(step) => *mut c_void
        )));
    };
    let (gone, other) = (signal(1), signal(1));
    handle(gone, 100);
    handle(other, 1);
    works(destroy(gone));
    store(other, 0);
    while CALLS.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(CALLS.load(Ordering::Acquire), 1);
    works(destroy(other));
}

#[test]
fn rows_and_slices_of_a_copy_do_not_overlap() {
    let gpu = gpu();
    let memory = alloc(pool_of(gpu.agent, COARSE), 4096);
    let host = alloc(pool_of(cpu(), FINE), 4096);
    works(hsa!(hsa_amd_agents_allow_access(
        1 => u32, &raw const gpu.agent => *const hsa_agent_t, null() => *const u32, host => *const c_void
    )));
    let done = signal(1);
    let copy = |pitch: usize, slice: usize, [x, y, z]: [u32; 3]| {
        let side = |base| hsa_pitched_ptr_t { base, pitch, slice };
        let (to, from) = (side(memory), side(host));
        let (none, range) = (hsa_dim3_t { x: 0, y: 0, z: 0 }, hsa_dim3_t { x, y, z });
        hsa!(hsa_amd_memory_async_copy_rect(
            &raw const to => *const hsa_pitched_ptr_t, &raw const none => *const hsa_dim3_t,
            &raw const from => *const hsa_pitched_ptr_t, &raw const none => *const hsa_dim3_t,
            &raw const range => *const hsa_dim3_t, gpu.agent => hsa_agent_t, 0 => u32,
            0 => u32, null() => *const hsa_signal_t, done => hsa_signal_t
        ))
    };
    works(copy(16, 64, [16, 4, 2]));
    comes_to_zero(done);
    for (pitch, slice, range) in [
        (0, 0, [16, u32::MAX, u32::MAX]),
        (8, 64, [16, 4, 2]),
        (16, 32, [16, 4, 2]),
    ] {
        is(copy(pitch, slice, range), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    works(destroy(done));
    works(free(memory));
    works(free(host));
}
