//! Declared kernels.

use conformance_calls::launch::{AskHost, EveryForm, Increment, IncrementAndTrap, Places};
use conformance_calls::{Pair, act};
use revoff_device::thread;

fn threads() -> usize {
    thread::teams() as usize * thread::threads() as usize
}

/// The indices of this thread's elements.
fn mine(len: usize) -> impl Iterator<Item = usize> {
    (thread::global() as usize..len).step_by(threads())
}

/// # Safety
/// No other thread uses the element.
unsafe fn element<T>(slice: *mut [T], at: usize) -> *mut T {
    assert!(at < slice.len());
    // SAFETY: it lies in the slice.
    unsafe { slice.cast::<T>().add(at) }
}

/// See the declaration.
#[revoff_device::kernel(EveryForm)]
#[allow(clippy::too_many_arguments, reason = "every form")]
pub fn every_form(
    factor: f64,
    words: &[u32],
    pair: &Pair,
    tiny: u8,
    sums: *mut [f64],
    total: *mut Pair,
    squares: *mut [u64],
    swapped: *mut Pair,
    seen: *mut Pair,
) {
    let mut dirty = 0;
    // SAFETY: valid as long as the kernel runs; each thread has its own elements, and only the
    // first thread uses single values.
    unsafe {
        for i in mine(words.len().min(squares.len())) {
            let square = element(squares, i);
            dirty += u64::from(*square != 0);
            *square = u64::from(words[i]).pow(2);
        }
        for i in mine(words.len().min(sums.len())) {
            *element(sums, i) += f64::from(words[i]) * factor;
        }
        if thread::global() == 0 {
            dirty += u64::from(*swapped != Pair::default() || *seen != Pair::default());
            (*total).left += pair.left;
            (*total).right += pair.right;
            *swapped = Pair {
                left: pair.right,
                right: pair.left,
            };
            *seen = Pair {
                left: dirty,
                right: u64::from(tiny),
            };
        }
    }
}

/// See the declaration.
#[revoff_device::kernel(AskHost)]
pub fn ask_host(words: &[u32], sums: *mut [u64], threads_seen: *mut u64) {
    for i in mine(words.len().min(sums.len())) {
        let answer = act(u64::from(words[i])).unwrap_or(0);
        // SAFETY: each thread has elements of its own.
        unsafe { *element(sums, i) += answer };
    }
    if thread::global() == 0 {
        // SAFETY: only the first thread uses it.
        unsafe { *threads_seen = threads() as u64 };
    }
}

/// See the declaration.
#[revoff_device::kernel(Places)]
pub fn places(bytes: &[u8], words: &[u64], more: &[u64], places: *mut [u64]) {
    let found = [
        bytes.as_ptr().addr(),
        bytes.len(),
        words.as_ptr().addr(),
        words.len(),
        more.as_ptr().addr(),
        more.len(),
    ];
    for i in mine(found.len().min(places.len())) {
        // SAFETY: each thread has elements of its own.
        unsafe { *element(places, i) = found[i] as u64 };
    }
}

/// # Safety
/// They are valid, and shared only with threads that run this.
unsafe fn add_one(counts: *mut [u32]) {
    for i in mine(counts.len()) {
        // SAFETY: each thread has elements of its own.
        unsafe { *element(counts, i) += 1 };
    }
}

/// See the declaration.
#[revoff_device::kernel(Increment)]
pub fn increment(counts: *mut [u32]) {
    // SAFETY: valid as long as the kernel runs; all its threads run this.
    unsafe { add_one(counts) };
}

/// See the declaration.
#[revoff_device::kernel(IncrementAndTrap)]
pub fn increment_and_trap(counts: *mut [u32]) {
    // SAFETY: valid as long as the kernel runs; all its threads run this.
    unsafe { add_one(counts) };
    panic!("this one gives up");
}
