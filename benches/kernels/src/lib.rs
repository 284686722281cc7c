//! The kernels of `revoff bench` and `revoff soak`.
//!
//! Windows are in the device's time, which the host gets from [`now`], so that all threads of a
//! launch measure the same interval. All kernels end soon after theirs.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

mod calls;
mod measure;
mod ping;
mod rpc;
mod soak;

#[path = "../../quiet/src/arithmetic.rs"]
mod arithmetic_of_quiet;

use bench_calls::{buckets, nothing};
use revoff_device::{arch, thread};

use calls::caller;
use measure::{Calibration, Window};

pub use ping::{ping_count, ping_time};
pub use rpc::verify_rpc;
pub use soak::soak;

revoff_device::image!();

/// Writes the device's time to `time`.
///
/// # Safety
/// `time` is one word.
#[revoff_device::kernel]
pub unsafe fn now(time: *mut u64) {
    // SAFETY: the launcher provides the word, for one thread.
    unsafe { time.write(thread::clock()) };
}

/// Calls from now on, and counts the calls between `from` and `until`; thread `i` writes their
/// number to `counts[i]`. Reads the clock after every `batch` calls.
///
/// # Safety
/// `counts` has a word for each thread.
#[revoff_device::kernel]
pub unsafe fn count(what: u32, from: u64, until: u64, batch: u64, counts: *mut u64) {
    let counted = measure::count(Window { from, until }, batch, caller(what));
    // SAFETY: the launcher provides the memory, one word for each thread.
    unsafe { counts.add(thread::global() as usize).write(counted) };
}

/// Calls from now on, and times each call between `from` and `until` of one thread in `every`. The
/// `i`th of these counts the ticks in the [`buckets::COUNT`] words from `times + i *
/// buckets::COUNT` on, and writes the total nanoseconds and ticks to `spans[i]`.
///
/// # Safety
/// `times` has the words, zeroed, and `spans` a pair for each of these threads.
#[revoff_device::kernel]
pub unsafe fn time(
    what: u32,
    from: u64,
    until: u64,
    every: u32,
    times: *mut u32,
    spans: *mut [u64; 2],
) {
    let i = (thread::global() / every) as usize;
    let counts = thread::global().is_multiple_of(every);
    // SAFETY: the launcher provides the memory, with a separate part for each of these threads.
    let times = counts.then(|| unsafe { &mut *times.add(i * buckets::COUNT).cast() });
    let span = measure::time(Window { from, until }, times, caller(what));
    if counts {
        // SAFETY: the launcher provides one span for each thread that is timed, and `i` is this
        // thread's.
        unsafe { spans.add(i).write(span) };
    }
}

/// Makes `count` calls in each thread, unless one fails.
#[revoff_device::kernel]
pub fn repeat(what: u32, count: u64) {
    let mut call = caller(what);
    for _ in 0..count {
        if !call() {
            return;
        }
    }
}

/// Makes `count` calls, each after a pause of `pause` nanoseconds in which the thread uses as little
/// of its processor as possible. Writes the ticks of each call to `times`, and the total nanoseconds
/// and ticks to `span`.
///
/// # Safety
/// `times` has `count` words; one thread runs.
#[revoff_device::kernel]
pub unsafe fn pauses(pause: u64, count: u64, times: *mut u64, span: *mut [u64; 2]) {
    let calibration = Calibration::begin();
    if nothing().is_err() {
        return;
    }
    for i in 0..count {
        let awake = thread::clock() + pause;
        while thread::clock() < awake {
            arch::pause(u32::MAX);
        }
        let start = thread::ticks();
        if nothing().is_err() {
            return;
        }
        let took = thread::ticks() - start;
        // SAFETY: the launcher provides `count` words, for one thread.
        unsafe { times.add(i as usize).write(took) };
    }
    // SAFETY: the launcher provides the pair, for one thread.
    unsafe { span.write(calibration.span()) };
}

/// The kernel of `benches/quiet`, in an image that has the runtime.
///
/// # Safety
/// `seed` is not 0.
#[revoff_device::kernel]
pub unsafe fn arithmetic(steps: u64, seed: u64, out: *mut u64) {
    // SAFETY: the launcher's promise.
    unsafe { arithmetic_of_quiet::run(steps, seed, out) };
}
