//! Kernels whose threads call a function and record the outcome.

use core::cell::UnsafeCell;
use revoff_device::shared_abi::words::{Load, SystemWords};

use conformance_calls::{Outcome, STOP, act, nothing, tally};
use revoff_device::thread;

/// Thread `i` of all calls `act(what + i * step)` up to `rounds` times, and writes the outcome to
/// `outcomes[i]`.
///
/// # Safety
/// There is an [`Outcome`] for each thread.
#[revoff_device::kernel]
pub unsafe fn call_act(what: u64, step: u64, rounds: u32, outcomes: *mut Outcome) {
    let me = thread::global() as usize;
    let outcome = repeat(what + step * me as u64, rounds);
    // SAFETY: each thread writes its own.
    unsafe { outcomes.add(me).write(outcome) };
}

fn repeat(what: u64, rounds: u32) -> Outcome {
    let mut outcome = Outcome::default();
    for _ in 0..rounds {
        match act(what) {
            Ok(result) => {
                outcome.sum = outcome.sum.wrapping_add(result & !STOP);
                outcome.ok += 1;
                if result & STOP != 0 {
                    break;
                }
            }
            Err(error) => {
                outcome.failed += 1;
                outcome.status = error.status().0;
            }
        }
    }
    outcome
}

/// Each thread calls `tally` and writes the result to its element of `sums`, or a negative number.
///
/// # Safety
/// There is a sum for each thread.
#[revoff_device::kernel]
pub unsafe fn call_tally(tag: i32, sums: *mut i32) {
    let mut sum = -1;
    if tally(
        tag,
        thread::team() as i32,
        thread::thread() as i32,
        &mut sum,
    )
    .is_err()
    {
        sum = -2;
    }
    // SAFETY: each thread writes its own.
    unsafe { sums.add(thread::global() as usize).write(sum) };
}

/// Thread `i` writes 1 to `done[i]` if `nothing` could be called.
///
/// # Safety
/// There is a word for each thread.
#[revoff_device::kernel]
pub unsafe fn call_nothing(done: *mut u32) {
    let called = nothing().is_ok();
    // SAFETY: each thread writes its own.
    unsafe { done.add(thread::global() as usize).write(u32::from(called)) };
}

/// Like `call_act` with one round, but the thread `victim` of all panics after its call.
///
/// # Safety
/// There is an [`Outcome`] for each thread.
#[revoff_device::kernel]
pub unsafe fn call_and_trap(what: u64, victim: u32, outcomes: *mut Outcome) {
    let me = thread::global();
    let outcome = repeat(what, 1);
    assert!(me != victim, "thread {me} gives up");
    // SAFETY: each thread writes its own.
    unsafe { outcomes.add(me as usize).write(outcome) };
}

/// Thread `i` of all adds 1 to `counts[i]`.
///
/// # Safety
/// There is a count for each thread, which no other launch uses meanwhile.
#[revoff_device::kernel]
pub unsafe fn add_one(counts: *mut u32) {
    // SAFETY: each thread has its own.
    unsafe { *counts.add(thread::global() as usize) += 1 };
}

struct Counter(UnsafeCell<u32>);

// SAFETY: `count_up` is launched with one thread, one launch at a time.
unsafe impl Sync for Counter {}

static COUNTER: Counter = Counter(UnsafeCell::new(0));

/// Counts its launches in a variable of the image.
///
/// # Safety
/// `count` is a word; no other launch of this kernel, or thread, runs.
#[revoff_device::kernel]
pub unsafe fn count_up(count: *mut u32) {
    // SAFETY: only one thread runs at a time.
    unsafe {
        *COUNTER.0.get() += 1;
        count.write(*COUNTER.0.get());
    }
}

/// Makes no call; ends when the host writes a value other than 0 to `flag`.
///
/// # Safety
/// `flag` is a word.
#[revoff_device::kernel]
pub unsafe fn wait_for(flag: *const u32) {
    let mut attempt = 0;
    // SAFETY: the word exists, in device memory, in a buffer of its own.
    let word = unsafe { revoff_device::arch::mapped(flag as u64) };
    // At system scope, since the host writes it meanwhile. Acquire, though nothing is read that
    // depends on it.
    while SystemWords::load32(&word, 0, Load::Acquire) == 0 {
        revoff_device::arch::pause(attempt);
        attempt += 1;
    }
}
