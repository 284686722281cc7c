//! The stand-in rejects what ROCr rejects, and more where it is stricter. One test: the functions
//! share the state of the process.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hsa_runtime_sys::*;

use crate::agent::{CPU, gpu_agent};
use crate::code::{hsa_executable_create_alt, hsa_executable_destroy, load};
use crate::copy::hsa_amd_memory_async_copy;
use crate::earlier::hsa_memory_copy;
use crate::event::hsa_amd_register_system_event_handler;
use crate::image::{Export, elf};
use crate::memory::{
    hsa_amd_agents_allow_access, hsa_amd_memory_pool_allocate, hsa_amd_memory_pool_free,
};
use crate::placed::DESCRIPTOR;
use crate::pool::{FINE, FIRST_GPU};
use crate::queue::{
    hsa_queue_add_write_index_relaxed, hsa_queue_create, hsa_queue_destroy,
    hsa_queue_load_read_index_scacquire,
};
use crate::signal::{hsa_signal_create, hsa_signal_destroy};
use crate::signal::{hsa_signal_load_scacquire, hsa_signal_store_relaxed};
use crate::state::{hsa_init, revoff_hsa_stand_in_held, state};

/// The value that a handler leaves once it has read its result.
const HEARD: u32 = 0xbeef;

unsafe extern "C" fn on_event(_: *const hsa_amd_event_t, answer: *mut c_void) -> hsa_status_t {
    // SAFETY: the test's results, which it does not access meanwhile.
    unsafe { answer.cast::<hsa_status_t>().replace(HEARD) }
}

fn signal(value: i64) -> hsa_signal_t {
    let mut signal = hsa_signal_t { handle: 0 };
    // SAFETY: valid for a handle.
    let status = unsafe { hsa_signal_create(value, 0, null(), &raw mut signal) };
    assert_eq!(status, HSA_STATUS_SUCCESS);
    signal
}

/// A code object with a kernel, `scale`, and data, with a value and without one.
pub(crate) fn exports() -> Vec<u8> {
    let export = |name: &str, size, value: Option<&[u8]>| Export {
        name: name.to_owned(),
        size,
        value: value.map(<[u8]>::to_vec),
    };
    let mut descriptor = [0; DESCRIPTOR as usize];
    descriptor[..12].copy_from_slice(&[1, 2, 0, 0, 3, 0, 0, 0, 56, 0, 0, 0]);
    let kernel = export("scale.kd", DESCRIPTOR, Some(&descriptor));
    let number = export("number", 4, Some(&[4, 3, 2, 1]));
    elf(&[], &[kernel, number, export("room", 1 << 16, None)])
}

fn alloc(pool: u64, size: usize) -> *mut c_void {
    let (pool, mut memory) = (hsa_amd_memory_pool_t { handle: pool }, null_mut());
    // SAFETY: valid for a pointer.
    let status = unsafe { hsa_amd_memory_pool_allocate(pool, size, 0, &raw mut memory) };
    assert_eq!(status, HSA_STATUS_SUCCESS);
    memory
}

/// Copies a byte from the host's memory to the GPU's.
fn copy(to: *mut c_void, from: *mut c_void, after: &[hsa_signal_t], done: hsa_signal_t) -> u32 {
    let (gpu, cpu) = (gpu_agent(0), hsa_agent_t { handle: CPU });
    let (count, after) = (after.len() as u32, after.as_ptr());
    // SAFETY: the signals exist; memory is looked up.
    unsafe { hsa_amd_memory_async_copy(to, gpu, from, cpu, 1, count, after, done) }
}

fn comes_to(signal: hsa_signal_t, value: i64, time: Duration) -> bool {
    let start = Instant::now();
    while hsa_signal_load_scacquire(signal) != value {
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Whether it is unusable or not.
fn an_executable_that_takes_no_code_keeps_none() {
    let (held, gpu) = (revoff_hsa_stand_in_held(), gpu_agent(0));
    let mut executable = hsa_executable_t { handle: 1 };
    let refused = load(state(), executable, gpu, &exports());
    assert_eq!(refused, Err(HSA_STATUS_ERROR_INVALID_EXECUTABLE));
    assert_eq!(revoff_hsa_stand_in_held(), held);
    // SAFETY: valid for a handle.
    let status = unsafe { hsa_executable_create_alt(0, 0, null(), &raw mut executable) };
    assert_eq!(status, HSA_STATUS_SUCCESS);
    let refused = HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    for expected in [Ok(()), Err(refused), Err(refused)] {
        assert_eq!(load(state(), executable, gpu, &exports()), expected);
        assert_eq!(revoff_hsa_stand_in_held(), held + 2, "itself, and a kernel");
    }
    assert_eq!(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
    assert_eq!(revoff_hsa_stand_in_held(), held);
}

/// Packets of the kind that waits for nothing, in a new queue, published at once. Returns the
/// number of processed packets and the queue's error, if any.
fn packets(headers: &[u16]) -> (u64, hsa_status_t) {
    unsafe extern "C" fn failed(status: hsa_status_t, _: *mut hsa_queue_t, answer: *mut c_void) {
        // SAFETY: alive until the queue has ended.
        let answer = unsafe { &*answer.cast::<AtomicU32>() };
        answer.store(status, Ordering::Release);
    }
    let (failure, mut queue) = (AtomicU32::new(0), null_mut());
    let data = (&raw const failure).cast_mut().cast();
    // SAFETY: valid for a pointer; the function gets its own data.
    let status =
        unsafe { hsa_queue_create(gpu_agent(0), 4, 0, Some(failed), data, 0, 0, &raw mut queue) };
    assert_eq!(status, HSA_STATUS_SUCCESS);
    // SAFETY: just made.
    let (base, bell) = unsafe { ((*queue).base_address, (*queue).doorbell_signal) };
    for &header in headers {
        let index = hsa_queue_add_write_index_relaxed(queue, 1);
        // SAFETY: there is room for four packets, which are not published yet: structs of numbers
        // and handles, for which zeros are valid.
        unsafe {
            let place = base.cast::<hsa_barrier_and_packet_t>().add(index as usize);
            place.write(std::mem::zeroed());
            (*place).header = header;
        }
    }
    hsa_signal_store_relaxed(bell, headers.len() as i64 - 1);
    let read = || hsa_queue_load_read_index_scacquire(queue);
    while read() < headers.len() as u64 && failure.load(Ordering::Acquire) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let ends = (read(), failure.load(Ordering::Acquire));
    assert_eq!(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
    ends
}

fn packets_say_that_they_wait_for_those_before() {
    const ALONE: u16 = 3 | 2 << 9 | 2 << 11;
    const BARRIER: u16 = ALONE | 1 << 8;
    assert_eq!(packets(&[ALONE]), (1, 0));
    assert_eq!(packets(&[ALONE, BARRIER, BARRIER]), (3, 0));
    let refused = HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    assert_eq!(packets(&[BARRIER, ALONE]), (1, refused));
    assert_eq!(packets(&[3]), (0, refused));
}

/// However late its thread runs on a busy machine.
fn an_idle_queue_leaves_nothing_behind() {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Even if something panics, since the scope waits for the others.
        let _end = End(&is_over);
        for _ in 0..32 {
            // Relaxed: the flag carries no other data.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        for _ in 0..8 {
            packets(&[]);
            assert!(state().zombies.is_empty(), "a queue was left behind");
        }
    });
}

/// Sets a flag when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        // Relaxed: the flag carries no other data.
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn it_is_strict() {
    let mut early = hsa_signal_t { handle: 0 };
    // SAFETY: valid for a handle.
    let status = unsafe { hsa_signal_create(0, 0, null(), &raw mut early) };
    assert_eq!(status, HSA_STATUS_ERROR_NOT_INITIALIZED);
    assert_eq!(hsa_init(), HSA_STATUS_SUCCESS);
    assert_eq!(revoff_hsa_stand_in_held(), 0);

    // Memory is not zeroed, and agents without access may not use it.
    let (there, here) = (alloc(FIRST_GPU, 1), alloc(FINE, 1));
    // SAFETY: the byte exists and is unused.
    assert_ne!(unsafe { here.cast::<u8>().read() }, 0);
    let [first, second, gate] = [1, 1, 1].map(signal);
    let refused = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    assert_eq!(copy(there, here, &[], first), refused);
    let gpu = gpu_agent(0);
    // SAFETY: one agent.
    let status = unsafe { hsa_amd_agents_allow_access(1, &raw const gpu, null(), here) };
    assert_eq!(status, HSA_STATUS_SUCCESS);
    assert_eq!(
        copy(here, there, &[], first),
        refused,
        "the wrong way round"
    );

    // Errors: no agent, a freed block, only one valid side.
    let mut word = [0u8; 2];
    let stack = word.as_mut_ptr().cast();
    // SAFETY: two bytes on the stack; memory is looked up.
    let copy_plainly = |to, from, size| unsafe { hsa_memory_copy(to, from, size) };
    assert_eq!(copy_plainly(there, stack, 2), HSA_STATUS_SUCCESS);
    assert_eq!(copy_plainly(stack, here, 1), HSA_STATUS_SUCCESS);
    assert_eq!(copy_plainly(there, here, 4097), refused);
    assert_eq!(copy_plainly(stack, stack, 1), refused);

    // Copies run in order, whatever they wait for.
    assert_eq!(copy(there, here, &[gate], first), HSA_STATUS_SUCCESS);
    assert_eq!(copy(there, here, &[], second), HSA_STATUS_SUCCESS);
    assert!(!comes_to(second, 0, Duration::from_millis(20)));
    hsa_signal_store_relaxed(gate, 0);
    for done in [first, second] {
        assert!(comes_to(done, 0, Duration::from_secs(10)));
    }

    // All handlers get an event, and one of them may accept it; there is one fault.
    let events = &state().events;
    let mut answers = [HSA_STATUS_SUCCESS, HSA_STATUS_ERROR];
    for answer in &mut answers {
        let status =
            hsa_amd_register_system_event_handler(Some(on_event), (&raw mut *answer).cast());
        assert_eq!(status, HSA_STATUS_SUCCESS);
    }
    let fault = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
    assert_eq!(events.tell(fault, 0), Some(HSA_STATUS_SUCCESS));
    assert_eq!(answers, [HEARD, HEARD]);
    assert_eq!(events.tell(fault, 1), None);

    an_executable_that_takes_no_code_keeps_none();
    packets_say_that_they_wait_for_those_before();
    an_idle_queue_leaves_nothing_behind();

    // Nothing is freed twice, and unfreed resources are counted.
    assert_eq!(revoff_hsa_stand_in_held(), 5);
    for memory in [there, here] {
        assert_eq!(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
        let again = hsa_amd_memory_pool_free(memory);
        assert_eq!(again, HSA_STATUS_ERROR_INVALID_ALLOCATION);
    }
    for signal in [first, second, gate] {
        assert_eq!(hsa_signal_destroy(signal), HSA_STATUS_SUCCESS);
        assert_eq!(hsa_signal_destroy(signal), HSA_STATUS_ERROR_INVALID_SIGNAL);
    }
    assert_eq!(revoff_hsa_stand_in_held(), 0);
}
