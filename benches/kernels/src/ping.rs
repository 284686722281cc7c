//! The floor of a device: a word passed to the host and back, and nothing else.

use bench_calls::{PING, PONG};
use revoff_device::shared_abi::words::{Load, Store, SystemWords};
use revoff_device::{arch, thread};

use crate::measure::{self, Window};

/// Passes words to the host and back; `false` if none comes back within `polls` polls.
///
/// # Safety
/// `flags` is mapped memory of [`bench_calls::FLAGS`] bytes.
unsafe fn pings(flags: *mut u8, polls: u64) -> impl FnMut() -> bool {
    // SAFETY: the caller's promise; both words are in it and aligned.
    let words = unsafe { arch::mapped(flags.addr() as u64) };
    let mut word = 0u32;
    move || {
        word = word.wrapping_add(1);
        // Relaxed, as is the load: the words carry no other data.
        words.store32(PING, word, Store::Relaxed);
        let mut left = polls;
        while left > 0 {
            if words.load32(PONG, Load::Relaxed) == word {
                return true;
            }
            left -= 1;
        }
        false
    }
}

/// Counts round trips: the first thread writes to `count` the number of round trips in the `time`
/// nanoseconds after the first `warm_up`; 0 if the host did not answer.
///
/// # Safety
/// `flags` is mapped memory of [`bench_calls::FLAGS`] bytes, `count` one word.
#[revoff_device::kernel]
pub unsafe fn ping_count(flags: *mut u8, polls: u64, warm_up: u64, time: u64, count: *mut u64) {
    if thread::global() != 0 {
        return;
    }
    // SAFETY: the launcher's promise.
    let call = unsafe { pings(flags, polls) };
    let counted = measure::count(Window::after(warm_up, time), 16, call);
    // SAFETY: the launcher's promise; one thread gets here.
    unsafe { count.write(counted) };
}

/// Times round trips, as [`time`](crate::time) does calls.
///
/// # Safety
/// As for [`ping_count`]; `times` has [`bench_calls::buckets::COUNT`] words, zeroed, and
/// `span` one pair.
#[revoff_device::kernel]
pub unsafe fn ping_time(
    flags: *mut u8,
    polls: u64,
    warm_up: u64,
    time: u64,
    times: *mut u32,
    span: *mut [u64; 2],
) {
    if thread::global() != 0 {
        return;
    }
    // SAFETY: the launcher's promise; one thread gets here.
    let (call, times) = unsafe { (pings(flags, polls), &mut *times.cast()) };
    let took = measure::time(Window::after(warm_up, time), Some(times), call);
    // SAFETY: the launcher provides the span; only this thread writes it.
    unsafe { span.write(took) };
}
