//! The order of packets, kernels, and their faults.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hsa_emu::Arch;
use hsa_runtime_sys::*;

use crate::gpu::{
    Gpu, comes_to_zero, destroy, hsa, is, load, read, signal, store, wait_for, works,
};
use crate::queue::{BARRIER, Kernels, Queue, barrier, dispatch};

const NONE: hsa_signal_t = hsa_signal_t { handle: 0 };
const AND: u32 = HSA_PACKET_TYPE_BARRIER_AND;
const OR: u32 = HSA_PACKET_TYPE_BARRIER_OR;

/// Arguments of a kernel: two words in memory that the GPU may use.
fn arguments(gpu: &Gpu, words: [u64; 2]) -> *mut c_void {
    let memory = gpu.alloc_shared(16);
    // SAFETY: of this size, and unused.
    unsafe { memory.cast::<[u64; 2]>().write(words) };
    memory
}

fn address(memory: *mut c_void) -> u64 {
    memory.addr() as u64
}

#[test]
fn a_kernel_stores_to_memory_of_either_side() {
    for is_strict in [true, false] {
        let gpu = Gpu::with(Arch::Gfx90a, is_strict);
        let Some(kernels) = Kernels::load(&gpu) else {
            return;
        };
        let queue = Queue::new(&gpu, 16);
        for memory in [gpu.alloc(8), gpu.alloc_shared(8)] {
            let done = signal(1);
            let arguments = arguments(&gpu, [address(memory), 0x0123_4567_89ab_cdef]);
            queue.push(&dispatch(kernels.object("store"), arguments, done));
            comes_to_zero(done);
            assert_eq!(read(memory), 0x0123_4567_89ab_cdef);
            let mut time = hsa_amd_profiling_dispatch_time_t { start: 0, end: 0 };
            works(hsa!(hsa_amd_profiling_get_dispatch_time(
                gpu.agent => hsa_agent_t,
                done => hsa_signal_t,
                &raw mut time => *mut hsa_amd_profiling_dispatch_time_t,
            )));
            assert!(0 < time.start && time.start < time.end, "{time:?}");
            works(destroy(done));
        }
        // A packet's place may become free after its kernel has ended.
        let deadline = Instant::now() + Duration::from_secs(20);
        while queue.read_index() < 2 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!((queue.failure(), queue.read_index()), (0, 2));
        assert_eq!(
            queue.header(0),
            HSA_PACKET_TYPE_INVALID as u16,
            "its place is free"
        );
    }
}

#[test]
fn kernels_without_the_barrier_bit_overlap() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let queue = Queue::new(&gpu, 16);
    let (first, second) = (signal(1), signal(1));
    let flag = gpu.alloc_shared(8);
    // SAFETY: of this size, and unused.
    unsafe { flag.cast::<u64>().write(0) };
    let arguments = arguments(&gpu, [address(flag), 7]);
    queue.push(&dispatch(kernels.object("wait"), arguments, first));
    queue.push(&dispatch(kernels.object("store"), arguments, second));
    comes_to_zero(second);
    comes_to_zero(first);
}

#[test]
fn the_barrier_bit_waits_for_earlier_kernels() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let queue = Queue::new(&gpu, 16);
    let (first, second, third) = (signal(1), signal(1), signal(1));
    let (flag, other) = (gpu.alloc_shared(8), gpu.alloc_shared(8));
    // SAFETY: of this size, and unused.
    unsafe { flag.cast::<u64>().write(0) };
    queue.push(&dispatch(
        kernels.object("wait"),
        arguments(&gpu, [address(flag), 7]),
        first,
    ));
    let store_other = arguments(&gpu, [address(other), 1]);
    let mut after = dispatch(kernels.object("store"), store_other, second);
    after[0] |= u32::from(BARRIER);
    queue.push(&after);
    queue.push(&barrier(AND, &[], third));
    assert_eq!(wait_for(second, 0, 30), 1, "it waits");
    assert_eq!(load(third), 1, "it waits behind it");
    gpu.write(flag, 7u64);
    for signal in [first, second, third] {
        comes_to_zero(signal);
    }
    assert_eq!(queue.failure(), 0);
}

#[test]
fn packets_wait_for_signals() {
    let gpu = Gpu::new();
    let queue = Queue::new(&gpu, 4);
    let (one, two, done) = (signal(1), signal(1), signal(2));
    queue.push(&barrier(AND, &[one, two], done));
    store(one, 0);
    assert_eq!(wait_for(done, 1, 20), 2, "one is left");
    store(two, 0);
    assert_eq!(wait_for(done, 1, 10_000), 1);
    works(destroy(one));
    let one = signal(5);
    store(two, 5);
    queue.push(&barrier(OR, &[one, two], done));
    assert_eq!(wait_for(done, 0, 20), 1, "none is 0");
    store(one, 0);
    comes_to_zero(done);
    // Several threads' packets in any order, and more than the ring has.
    store(done, 12);
    for _ in 0..3 {
        let places: Vec<u64> = (0..4).map(|_| queue.reserve()).collect();
        for &index in places.iter().rev() {
            queue.write(index, &barrier(AND, &[], done));
            queue.ring(index);
        }
        while queue.read_index() <= places[3] {
            std::thread::yield_now();
        }
    }
    comes_to_zero(done);
    assert_eq!((queue.failure(), queue.read_index()), (0, 14));
}

#[test]
fn a_packet_waits_for_the_value_of_a_signal() {
    let gpu = Gpu::new();
    let queue = Queue::new(&gpu, 4);
    let (gate, done) = (signal(0), signal(1));
    let value = hsa_amd_barrier_value_packet_t {
        header: hsa_amd_vendor_packet_header_t {
            header: HSA_PACKET_TYPE_VENDOR_SPECIFIC as u16 | 2 << 9 | 2 << 11,
            AmdFormat: HSA_AMD_PACKET_TYPE_BARRIER_VALUE as u8,
            reserved: 0,
        },
        reserved0: 0,
        signal: gate,
        value: 0x30,
        mask: 0xf0,
        cond: HSA_SIGNAL_CONDITION_EQ,
        reserved1: 0,
        reserved2: 0,
        reserved3: 0,
        completion_signal: done,
    };
    queue.push(&crate::queue::packet(value));
    store(gate, 0x3000);
    assert_eq!(wait_for(done, 0, 20), 1, "other bits");
    store(gate, 0x3f);
    comes_to_zero(done);
}

#[test]
fn kernels_end_when_their_queue_is_destroyed() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let flag = gpu.alloc_shared(8);
    // SAFETY: of this size, and unused.
    unsafe { flag.cast::<u64>().write(0) };
    let (done, behind) = (signal(1), signal(1));
    let queue = Queue::new(&gpu, 4);
    let arguments = arguments(&gpu, [address(flag), 7]);
    queue.push(&dispatch(kernels.object("wait"), arguments, done));
    queue.push(&barrier(AND, &[], behind));
    while queue.read_index() == 0 {
        std::thread::yield_now();
    }
    is(destroy(done), HSA_STATUS_ERROR_RESOURCE_FREE);
    let start = Instant::now();
    drop(queue);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    // Nothing changes the signals any more.
    assert_eq!((load(done), load(behind)), (1, 1));
    for signal in [done, behind] {
        works(destroy(signal));
    }
}

#[test]
fn an_inactive_queue_processes_nothing() {
    let gpu = Gpu::new();
    let queue = Queue::new(&gpu, 4);
    works(hsa!(hsa_queue_inactivate(queue.raw => *mut hsa_queue_t)));
    let done = signal(1);
    queue.push(&barrier(AND, &[], done));
    assert_eq!(wait_for(done, 0, 50), 1);
    assert_eq!((queue.failure(), queue.read_index()), (0, 0));
}

#[test]
fn faults_are_reported_to_the_queue() {
    for (kernel, expected) in [
        ("trap", HSA_STATUS_ERROR_EXCEPTION),
        ("illegal", HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION),
        ("beyond_lds", HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION),
    ] {
        let gpu = Gpu::new();
        let Some(kernels) = Kernels::load(&gpu) else {
            return;
        };
        let queue = Queue::new(&gpu, 4);
        let (done, behind) = (signal(1), signal(1));
        queue.push(&dispatch(
            kernels.object(kernel),
            std::ptr::null_mut(),
            done,
        ));
        queue.push(&barrier(AND, &[], behind));
        is(queue.wait_for_failure(), expected);
        assert_eq!((load(done), load(behind)), (1, 1));
        let fault = hsa_emu::fault_of(gpu.number).expect("it has faulted");
        assert_eq!(fault.kernel, kernel);
        assert!(
            gpu.has_said(&format!("kernel `{kernel}`")),
            "{:?}",
            gpu.said
        );
    }
}

/// A producer has a place in the queue, and the doorbell says so, but the packet is not there yet.
#[test]
fn packets_that_are_not_published() {
    let gpu = Gpu::new();
    let queue = Queue::new(&gpu, 4);
    queue.ring(queue.reserve());
    // The queue has begun to wait for it.
    std::thread::sleep(Duration::from_millis(20));
    let failure = Arc::clone(&queue.failure);
    drop(queue);
    assert_eq!(failure.load(Ordering::Acquire), 0, "nothing was wrong");

    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let queue = Queue::new(&gpu, 4);
    let trap = dispatch(kernels.object("trap"), std::ptr::null_mut(), NONE);
    let index = queue.reserve();
    queue.write(index, &trap);
    queue.ring(queue.reserve());
    is(queue.wait_for_failure(), HSA_STATUS_ERROR_EXCEPTION);
}

#[test]
fn a_kernel_that_does_not_fit_is_rejected() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let object = kernels.object("large");
    let with = |change: &dyn Fn(&mut [u32; 16])| {
        let queue = Queue::new(&gpu, 4);
        let mut packet = dispatch(object, std::ptr::null_mut(), NONE);
        (packet[6], packet[7]) = (256, 1024);
        change(&mut packet);
        queue.push(&packet);
        let deadline = Instant::now() + Duration::from_secs(10);
        while queue.failure() == 0 && queue.read_index() == 0 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        queue.failure()
    };
    assert_eq!(with(&|_| {}), 0);
    is(
        with(&|packet| packet[7] = 1023),
        HSA_STATUS_ERROR_INVALID_ALLOCATION,
    );
    is(
        with(&|packet| packet[7] = 1 << 20),
        HSA_STATUS_ERROR_INVALID_ALLOCATION,
    );
    is(
        with(&|packet| packet[6] = 0),
        HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    );
    is(
        with(&|packet| packet[6] = 1 << 20),
        HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    );
    is(
        with(&|packet| packet[3] = 0),
        HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
    );
    is(
        with(&|packet| packet[8] += 64),
        HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
    );
    is(
        with(&|packet| packet[0] &= !(3 << 9)),
        HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
    );
    is(
        with(&|packet| packet[14] = 8),
        HSA_STATUS_ERROR_INVALID_SIGNAL,
    );
    for text in [
        "packet 0 of queue",
        "its group_segment_size is 1023; kernel `large` needs 1024",
        "its private_segment_size is 0; kernel `large` needs 256",
        "its signal 0x8 does not exist",
    ] {
        assert!(gpu.has_said(text), "{text}: {:?}", gpu.said);
    }
}
