//! Signals.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hsa_runtime_sys::*;

use crate::gpu::{Gpu, comes_to_zero, destroy, hsa, is, load, signal, store, wait_for, works};

macro_rules! change {
    ($name:ident, $signal:expr, $value:expr) => {
        hsa!($name($signal => hsa_signal_t, $value => i64) -> ())
    };
}

#[test]
fn values_change_by_every_operation() {
    let _gpu = Gpu::new();
    let signal = signal(6);
    change!(hsa_signal_add_relaxed, signal, 4);
    assert_eq!(load(signal), 10);
    change!(hsa_signal_subtract_scacquire, signal, 3);
    assert_eq!(load(signal), 7);
    change!(hsa_signal_and_screlease, signal, 6);
    assert_eq!(load(signal), 6);
    change!(hsa_signal_or_scacq_screl, signal, 9);
    assert_eq!(load(signal), 15);
    change!(hsa_signal_xor_acq_rel, signal, 5);
    assert_eq!(load(signal), 10);
    change!(hsa_signal_store_relaxed, signal, -1);
    assert_eq!(load(signal), -1);
    change!(hsa_signal_silent_store_relaxed, signal, 3);
    let exchange = hsa!(hsa_signal_exchange_scacq_screl(signal => hsa_signal_t, 4 => i64) -> i64);
    assert_eq!((exchange, load(signal)), (3, 4));
    for (expected, value) in [(5, 4), (4, 9)] {
        let before = hsa!(hsa_signal_cas_scacq_screl(
            signal => hsa_signal_t, expected => i64, 9 => i64
        ) -> i64);
        assert_eq!((before, load(signal)), (4, value));
    }
    // The handle is the address of a signal as kernels know it.
    // SAFETY: it is alive.
    let raw = unsafe { (signal.handle as *const amd_signal_t).read() };
    assert_eq!(raw.kind, i64::from(AMD_SIGNAL_KIND_USER));
    // SAFETY: a signal of this kind has a value.
    assert_eq!(unsafe { raw.__bindgen_anon_1.value }, 9);
    assert!(signal.handle.is_multiple_of(64));
    works(destroy(signal));
    is(destroy(signal), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

#[test]
fn waits_end_when_the_condition_is_met() {
    let _gpu = Gpu::new();
    let signal = signal(1);
    let start = Instant::now();
    assert_eq!(wait_for(signal, 0, 30), 1);
    assert!(start.elapsed() >= Duration::from_millis(30));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            store(signal, 0);
        });
        comes_to_zero(signal);
    });
    // Also by a change that only memory shows.
    let mut value = std::ptr::null_mut();
    works(hsa!(hsa_amd_signal_value_pointer(
        signal => hsa_signal_t, &raw mut value => *mut *mut i64
    )));
    // SAFETY: the value of a signal that is alive.
    let value = unsafe { AtomicI64::from_ptr(value) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            value.store(5, Ordering::Release);
        });
        assert_eq!(wait_for(signal, 5, 10_000), 5);
    });
    works(destroy(signal));
}

#[test]
fn one_of_several_signals_ends_a_wait() {
    let _gpu = Gpu::new();
    let signals = [signal(1), hsa_signal_t { handle: 0 }, signal(1)];
    let wait = |milliseconds: u64| {
        let mut value = 0;
        let at = hsa!(hsa_amd_signal_wait_any(
            3 => u32,
            signals.as_ptr() => *const hsa_signal_t,
            [HSA_SIGNAL_CONDITION_LT; 3].as_ptr() => *const u32,
            [1i64; 3].as_ptr() => *const i64,
            milliseconds * 1_000_000 => u64,
            HSA_WAIT_STATE_BLOCKED => u32,
            &raw mut value => *mut i64,
        ) -> u32);
        (at, value)
    };
    assert_eq!(wait(5), (u32::MAX, 0));
    store(signals[2], -7);
    assert_eq!(wait(10_000), (2, -7));
    let mut group = hsa_signal_group_t { handle: 0 };
    let pair = [signals[0], signals[2]];
    let agent = crate::gpu::cpu();
    works(hsa!(hsa_signal_group_create(
        2 => u32,
        pair.as_ptr() => *const hsa_signal_t,
        1 => u32,
        &raw const agent => *const hsa_agent_t,
        &raw mut group => *mut hsa_signal_group_t,
    )));
    let (mut found, mut value) = (hsa_signal_t { handle: 0 }, 0);
    works(hsa!(hsa_signal_group_wait_any_scacquire(
        group => hsa_signal_group_t,
        [HSA_SIGNAL_CONDITION_EQ; 2].as_ptr() => *const u32,
        [-7i64; 2].as_ptr() => *const i64,
        HSA_WAIT_STATE_BLOCKED => u32,
        &raw mut found => *mut hsa_signal_t,
        &raw mut value => *mut i64,
    )));
    assert_eq!((found.handle, value), (signals[2].handle, -7));
    works(hsa!(hsa_signal_group_destroy(group => hsa_signal_group_t)));
    is(
        hsa!(hsa_signal_group_destroy(group => hsa_signal_group_t)),
        HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP,
    );
}

type Handler = unsafe extern "C" fn(i64, *mut c_void) -> bool;

/// Counts its calls; wants three.
unsafe extern "C" fn count(value: i64, calls: *mut c_void) -> bool {
    // SAFETY: the test's counter, which outlives the signal's handler.
    let calls = unsafe { &*calls.cast::<AtomicU64>() };
    assert!(value < 1);
    calls.fetch_add(1, Ordering::AcqRel) < 2
}

#[test]
fn handlers_are_called_until_they_have_enough() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let _gpu = Gpu::new();
    let signal = signal(1);
    works(hsa!(hsa_amd_signal_async_handler(
        signal => hsa_signal_t,
        HSA_SIGNAL_CONDITION_LT => u32,
        1 => i64,
        count => Handler,
        (&raw const CALLS).cast_mut().cast() => *mut c_void,
    )));
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(CALLS.load(Ordering::Acquire), 0);
    is(destroy(signal), HSA_STATUS_ERROR_RESOURCE_FREE);
    store(signal, 0);
    let start = Instant::now();
    while CALLS.load(Ordering::Acquire) < 3 {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(CALLS.load(Ordering::Acquire), 3);
    works(destroy(signal));
}

#[test]
fn invalid_arguments_are_rejected() {
    let _gpu = Gpu::new();
    let never = hsa_signal_t { handle: 0x1230 };
    is(destroy(never), HSA_STATUS_ERROR_INVALID_SIGNAL);
    is(
        destroy(hsa_signal_t { handle: 0 }),
        HSA_STATUS_ERROR_INVALID_ARGUMENT,
    );
    let created = |count: u32, agents: *const hsa_agent_t| {
        let mut signal = hsa_signal_t { handle: 0 };
        hsa!(hsa_signal_create(
            0 => i64, count => u32, agents => *const hsa_agent_t, &raw mut signal => *mut hsa_signal_t
        ))
    };
    is(
        created(1, std::ptr::null()),
        HSA_STATUS_ERROR_INVALID_ARGUMENT,
    );
    let twice = [crate::gpu::cpu(); 2];
    is(
        created(2, twice.as_ptr()),
        HSA_STATUS_ERROR_INVALID_ARGUMENT,
    );
    works(created(1, twice.as_ptr()));
    let agent = hsa_agent_t { handle: 1 };
    is(created(1, &raw const agent), HSA_STATUS_ERROR_INVALID_AGENT);
}
