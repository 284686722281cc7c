//! The kernels of `revoff bench`.
//!
//! Times are this device's: the host has them from [`now`], so that all threads
//! of a launch measure over the same stretch.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use core::ptr::null_mut;

use bench_calls::{EMPTY, TOFROM, TYPED, buckets, nothing, touch};
use device_rt::shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use device_rt::shared_abi::image::FunctionInfo;
use device_rt::shared_abi::status::Status;
use device_rt::target_ext::GOMP_target_ext;
use device_rt::{arch, thread};

device_rt::image!();

/// Calls between two looks at the clock where calls are only counted.
const BATCH: u64 = 16;

/// Writes the device's time to `time`.
///
/// # Safety
/// `time` is one word.
#[device_rt::kernel]
pub unsafe fn now(time: *mut u64) {
    // SAFETY: the launcher provides the word, for one thread.
    unsafe { time.write(thread::clock()) };
}

/// Calls from now on, and counts the calls between `from` and `until`; thread `i`
/// writes their number to `counts[i]`.
///
/// # Safety
/// `counts` has a word for each thread.
#[device_rt::kernel]
pub unsafe fn count(what: u32, from: u64, until: u64, counts: *mut u64) {
    let mut counted = 0;
    let mut call = caller(what);
    loop {
        for _ in 0..BATCH {
            if !call() {
                return;
            }
        }
        let time = thread::clock();
        if time >= until {
            break;
        }
        if time >= from {
            counted += BATCH;
        }
    }
    // SAFETY: the launcher provides the memory, one word for each thread.
    unsafe { counts.add(thread::global() as usize).write(counted) };
}

/// Calls from now on, and times each call between `from` and `until`; thread `i`
/// counts the times in the [`buckets::COUNT`] words from
/// `times + i * buckets::COUNT` on.
///
/// A time lasts from the end of one call to the end of the next, so it has one
/// look at the clock and the counting in it.
///
/// # Safety
/// `times` has the words, zeroed.
#[device_rt::kernel]
pub unsafe fn time(what: u32, from: u64, until: u64, times: *mut u32) {
    // SAFETY: the launcher provides the memory, a part of its own for each thread.
    let times = unsafe {
        core::slice::from_raw_parts_mut(
            times.add(thread::global() as usize * buckets::COUNT),
            buckets::COUNT,
        )
    };
    let mut call = caller(what);
    let mut last = thread::clock();
    while last < until {
        if !call() {
            return;
        }
        let time = thread::clock();
        if last >= from {
            times[buckets::bucket(time - last)] += 1;
        }
        last = time;
    }
}

/// Makes `count` calls, each after a pause of `pause` nanoseconds in which it uses
/// as little of its processor as it can, and writes how long they took to `times`.
///
/// # Safety
/// `times` has `count` words; one thread runs.
#[device_rt::kernel]
pub unsafe fn pauses(pause: u64, count: u64, times: *mut u64) {
    if nothing().is_err() {
        return;
    }
    for i in 0..count {
        let awake = thread::clock() + pause;
        while thread::clock() < awake {
            arch::pause(u32::MAX);
        }
        let start = thread::clock();
        if nothing().is_err() {
            return;
        }
        let time = thread::clock() - start;
        // SAFETY: the launcher provides `count` words, for one thread.
        unsafe { times.add(i as usize).write(time) };
    }
}

/// What is called; `false` once a call has failed.
fn caller(what: u32) -> impl FnMut() -> bool {
    let mut data = [0u8; 64];
    move || match what {
        EMPTY => bare(),
        TYPED => nothing().is_ok(),
        TOFROM => {
            let expected = data[0].wrapping_add(1);
            let done = touch(&mut data).is_ok();
            assert!(
                !done || data[0] == expected,
                "the host's bytes did not arrive"
            );
            done
        }
        _ => true,
    }
}

/// Stands for the host function [`bench_calls::BARE`].
#[unsafe(no_mangle)]
static __revoff_fn_bare: FunctionInfo = FunctionInfo { signature: 0 };

/// Calls it; `false` if that is known to have failed (GCC's wires do not tell).
fn bare() -> bool {
    let mut status = Status::NONE;
    // SAFETY: no arguments, and `args` points to the status word.
    unsafe {
        GOMP_target_ext(
            GOMP_DEVICE_HOST_FALLBACK,
            (&raw const __revoff_fn_bare).cast_mut().cast(),
            0,
            null_mut(),
            null_mut(),
            null_mut(),
            REVOFF_FLAG_STATUS,
            null_mut(),
            (&raw mut status).cast(),
        );
    }
    matches!(status, Status::DONE | Status::NONE)
}
