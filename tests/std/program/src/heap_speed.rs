//! Measures allocations of small memory, compared with the cheapest allocator that has a lock: a pointer
//! that only advances. Both take turns in one run.

use std::alloc::{Layout, alloc, dealloc};
use std::array;
use std::hint::black_box;
use std::sync::Mutex;

use crate::speed::rate;

const ROUNDS: usize = 9;
/// Allocations that a thread has at a time.
const KEPT: usize = 8;
const SIZES: [usize; 4] = [16, 40, 100, 300];
const ARENA: usize = 64 << 10;

/// Prints the rates for one thread and for eight, with `count` allocations of each.
pub fn measure(count: usize) {
    let arena = &Mutex::new((vec![0_u8; ARENA], 0));
    for threads in [1, 8] {
        let mut rates: [Vec<f64>; 2] = array::from_fn(|_| Vec::new());
        for _ in 0..ROUNDS {
            rates[0].push(rate(threads, count, || on_heap(count)));
            rates[1].push(rate(threads, count, || in_arena(arena, count)));
        }
        let mut ratios: Vec<_> = rates[0].iter().zip(&rates[1]).map(|(a, b)| a / b).collect();
        println!(
            "{threads} threads: heap {:.0}/s, lock and pointer {:.0}/s, ratio {:.2}",
            median(&mut rates[0]),
            median(&mut rates[1]),
            median(&mut ratios)
        );
    }
}

fn on_heap(count: usize) {
    let layout = |n: usize| Layout::from_size_align(SIZES[n % SIZES.len()], 8).expect("valid");
    let mut kept: [Option<(*mut u8, Layout)>; KEPT] = [None; KEPT];
    let free = |slot: &mut Option<(*mut u8, Layout)>| {
        if let Some((memory, layout)) = slot.take() {
            // SAFETY: allocated below with this layout.
            unsafe { dealloc(memory, layout) };
        }
    };
    for n in 0..count {
        let slot = &mut kept[n % KEPT];
        free(slot);
        let layout = layout(n);
        // SAFETY: the size is above 0, and the memory has it.
        let memory = unsafe {
            let memory = alloc(layout);
            assert!(!memory.is_null());
            memory.write(n as u8);
            memory
        };
        *slot = Some((black_box(memory), layout));
    }
    kept.iter_mut().for_each(free);
}

fn in_arena(arena: &Mutex<(Vec<u8>, usize)>, count: usize) {
    for n in 0..count {
        let size = SIZES[n % SIZES.len()];
        let mut arena = arena.lock().expect("locked");
        let (bytes, end) = &mut *arena;
        let at = if *end + size > bytes.len() { 0 } else { *end };
        *end = at + size.next_multiple_of(16);
        let memory = bytes[at..].as_mut_ptr();
        drop(arena);
        // Not written: others may have the same memory.
        black_box(memory);
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
