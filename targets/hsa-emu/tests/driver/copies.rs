//! Copies by engines.

use std::ffi::c_void;

use hsa_emu::Arch;
use hsa_runtime_sys::*;

use crate::gpu::{
    FINE, Gpu, alloc, comes_to_zero, cpu, destroy, free, hsa, is, load, pool_of, read, signal,
    store, wait_for, works,
};

type Side = (*mut c_void, hsa_agent_t);

/// Queues a copy.
fn copy(to: Side, from: Side, bytes: usize, after: &[hsa_signal_t], done: hsa_signal_t) -> u32 {
    let list = if after.is_empty() {
        std::ptr::null()
    } else {
        after.as_ptr()
    };
    hsa!(hsa_amd_memory_async_copy(
        to.0 => *mut c_void,
        to.1 => hsa_agent_t,
        from.0 => *const c_void,
        from.1 => hsa_agent_t,
        bytes => usize,
        after.len() as u32 => u32,
        list => *const hsa_signal_t,
        done => hsa_signal_t,
    ))
}

#[test]
fn copies_happen_in_order_whatever_they_wait_for() {
    let gpu = Gpu::new();
    let (there, here) = ((gpu.alloc(16), gpu.agent), (gpu.alloc_shared(16), cpu()));
    let [first, second, gate] = [1, 1, 1].map(signal);
    // SAFETY: of this size, and unused.
    unsafe { here.0.cast::<u64>().write(7) };
    works(copy(there, here, 8, &[gate], first));
    works(copy(here, there, 16, &[], second));
    is(destroy(gate), HSA_STATUS_ERROR_RESOURCE_FREE);
    assert_eq!(wait_for(second, 0, 20), 1, "it is behind the first");
    store(gate, 0);
    for done in [first, second] {
        comes_to_zero(done);
    }
    assert_eq!(read(there.0), 7);
    let mut time = hsa_amd_profiling_async_copy_time_t { start: 0, end: 0 };
    works(hsa!(hsa_amd_profiling_get_async_copy_time(
        second => hsa_signal_t, &raw mut time => *mut hsa_amd_profiling_async_copy_time_t
    )));
    assert!(0 < time.start && time.start <= time.end, "{time:?}");
    for signal in [first, second, gate] {
        works(destroy(signal));
    }
}

#[test]
fn only_memory_of_both_agents_is_copied() {
    let (gpu, other) = (Gpu::new(), Gpu::with(Arch::Gfx1100, true));
    let done = signal(1);
    let there = (gpu.alloc(16), gpu.agent);
    let here = (alloc(pool_of(cpu(), FINE), 16), cpu());
    let refused = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    is(copy(there, here, 8, &[], done), refused);
    works(hsa!(hsa_amd_agents_allow_access(
        1 => u32,
        &raw const gpu.agent => *const hsa_agent_t,
        std::ptr::null() => *const u32,
        here.0 => *const c_void,
    )));
    works(copy(there, here, 8, &[], done));
    comes_to_zero(done);
    is(
        copy((here.0, gpu.agent), (there.0, cpu()), 8, &[], done),
        refused,
    );
    is(copy(there, here, 17, &[], done), refused);
    is(
        copy(there, (here.0.wrapping_byte_add(9), cpu()), 8, &[], done),
        refused,
    );
    is(copy((there.0, other.agent), here, 8, &[], done), refused);
    let mut word = 0u64;
    let own = ((&raw mut word).cast::<c_void>(), cpu());
    is(copy(there, own, 8, &[], done), refused);
    let never = hsa_signal_t { handle: 64 };
    is(
        copy(there, here, 8, &[], never),
        HSA_STATUS_ERROR_INVALID_SIGNAL,
    );
    is(
        copy(there, here, 8, &[never], done),
        HSA_STATUS_ERROR_INVALID_SIGNAL,
    );
    // GPUs copy to each other.
    let peer = (other.alloc(8), other.agent);
    store(done, 1);
    gpu.write(there.0, 11u64);
    works(copy(peer, there, 8, &[], done));
    comes_to_zero(done);
    assert_eq!(read(peer.0), 11);
}

#[test]
fn a_copy_whose_memory_is_gone_fails() {
    let gpu = Gpu::new();
    let (there, here) = ((gpu.alloc(16), gpu.agent), (gpu.alloc_shared(16), cpu()));
    let (gate, done) = (signal(1), signal(1));
    works(copy(there, here, 16, &[gate], done));
    works(free(there.0));
    store(gate, 0);
    assert_eq!(wait_for(done, -1, 10_000), -1);
}

#[test]
fn rows_are_copied() {
    let gpu = Gpu::new();
    let (there, here) = (gpu.alloc(4096), gpu.alloc_shared(4096));
    for at in 0..1024u32 {
        // SAFETY: inside the memory, which is unused.
        unsafe { here.cast::<u32>().add(at as usize).write(at) };
    }
    works(hsa!(hsa_amd_memory_fill(there => *mut c_void, 0 => u32, 1024usize => usize)));
    let side = |base: *mut c_void| hsa_pitched_ptr_t {
        base,
        pitch: 64,
        slice: 512,
    };
    let (to_side, from_side) = (side(there), side(here));
    let done = signal(1);
    let rect = |to: hsa_dim3_t, from: hsa_dim3_t, range: hsa_dim3_t| {
        hsa!(hsa_amd_memory_async_copy_rect(
            &raw const to_side => *const hsa_pitched_ptr_t,
            &raw const to => *const hsa_dim3_t,
            &raw const from_side => *const hsa_pitched_ptr_t,
            &raw const from => *const hsa_dim3_t,
            &raw const range => *const hsa_dim3_t,
            gpu.agent => hsa_agent_t,
            hsaHostToDevice => u32,
            0 => u32,
            std::ptr::null() => *const hsa_signal_t,
            done => hsa_signal_t,
        ))
    };
    let dim = |x, y, z| hsa_dim3_t { x, y, z };
    works(rect(dim(8, 1, 1), dim(16, 2, 0), dim(8, 2, 2)));
    comes_to_zero(done);
    // Its first words: row 2 of slice 0, at byte 16.
    let word = |x: u64, y: u64, z: u64| {
        read(there.wrapping_byte_add((x + 64 * y + 512 * z) as usize)) as u32
    };
    assert_eq!(word(8, 1, 1), 2 * 16 + 4);
    assert_eq!(word(8, 2, 1), 3 * 16 + 4);
    assert_eq!(word(8, 1, 2), 128 + 2 * 16 + 4);
    assert_eq!(
        [word(16, 1, 1), word(4, 1, 1), word(8, 3, 1), word(8, 1, 3)],
        [0; 4]
    );
    let refused = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    is(rect(dim(0, 0, 0), dim(0, 0, 0), dim(64, 8, 9)), refused);
    is(rect(dim(4, 0, 0), dim(0, 0, 0), dim(64, 8, 8)), refused);
}

#[test]
fn copies_may_be_held() {
    let gpu = Gpu::new();
    let (there, here) = ((gpu.alloc(16), gpu.agent), (gpu.alloc_shared(16), cpu()));
    let done = signal(1);
    let held = hsa_emu::hold_copies();
    works(copy(there, here, 16, &[], done));
    std::thread::sleep(std::time::Duration::from_millis(10));
    assert_eq!(load(done), 1);
    assert!(hsa_emu::counts().copies > 0);
    drop(held);
    comes_to_zero(done);
}
