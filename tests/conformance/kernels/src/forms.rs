//! Every form of a typed argument, from the stack and from device memory.

use conformance_calls::{Pair, read_forms, write_forms};
use revoff_device::thread;

/// Calls both functions with data on its stack and with the `count` words of `memory`, which hold
/// 1, 2, 3, ...; writes what it finds to `results`, ten words in the order below.
///
/// # Safety
/// `memory` has `count` words, `results` ten.
#[revoff_device::kernel]
pub unsafe fn call_forms(memory: *mut u64, count: u64, results: *mut u64) {
    // SAFETY: the launcher promises both; no other thread runs.
    let (memory, results) = unsafe {
        (
            core::slice::from_raw_parts_mut(memory, count as usize),
            core::slice::from_raw_parts_mut(results, 10),
        )
    };
    let pair = Pair {
        left: 10,
        right: 20,
    };
    let words = [1, 2, 3, 4, 5];
    results[0] = read_forms(&words, &pair, [7; 24], 9, 0.5).unwrap_or(u64::MAX);
    results[1] = read_forms(&[], &pair, [0; 24], 0, -1.0).unwrap_or(u64::MAX);

    let mut pair = pair;
    let mut fill = [0u16; 7];
    let mut one = Pair::default();
    let mut few = [1u64, 2, 3];
    match write_forms(&mut few, &mut pair, &mut fill, &mut one) {
        Ok(back) => (results[2], results[3]) = (back.left, back.right),
        Err(_) => results[2] = u64::MAX,
    }
    results[4] = few.iter().sum();
    results[5] = pair.left + pair.right;
    results[6] = fill.iter().map(|&n| u64::from(n)).sum();
    results[7] = one.left + one.right;

    let back = write_forms(memory, &mut pair, &mut [], &mut one);
    results[8] = back.map_or(u64::MAX, |back| back.left);
    results[9] = memory.iter().sum();
}

/// Each thread calls `write_forms` with its `count` words of `memory`, `rounds` times, and adds the words
/// that it then finds to its element of `sums`.
///
/// # Safety
/// `memory` has `count` words for each thread, `sums` one.
#[revoff_device::kernel]
pub unsafe fn call_repeatedly(memory: *mut u64, count: u64, rounds: u32, sums: *mut u64) {
    let me = thread::global() as usize;
    // SAFETY: the launcher promises the words, and each thread has its own.
    let (words, sum) = unsafe {
        let first = memory.add(me * count as usize);
        let words = core::slice::from_raw_parts_mut(first, count as usize);
        (words, &mut *sums.add(me))
    };
    for _ in 0..rounds {
        // The sum shows a failure.
        let _ = write_forms(words, &mut Pair::default(), &mut [], &mut Pair::default());
        *sum += words.iter().sum::<u64>();
    }
}
