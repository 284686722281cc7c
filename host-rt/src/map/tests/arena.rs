//! The memory of a request.

use crate::map::arena::{Arena, MAX_ALIGN};

#[test]
fn places_are_apart_aligned_and_initialised() {
    let mut arena = Arena::new(1 << 20);
    for _ in 0..3 {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for i in 0..200usize {
            let (len, align) = (i * 37 % 5000, 1 << (i % 13));
            let phase = i % align;
            let place = arena.take(len, align, phase, true).unwrap();
            let start = place.as_ptr().addr();
            assert_eq!(start % align, phase);
            // SAFETY: just taken, `len` bytes of initialised memory.
            let bytes = unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), len) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(0xff);
            taken.push((start, start + len));
        }
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        arena.reset();
    }
}

#[test]
fn memory_is_kept_and_comes_back_zeroed() {
    let mut arena = Arena::new(1 << 20);
    let mut place = |zero| {
        let place = arena.take(1000, MAX_ALIGN, 0, zero).unwrap();
        // SAFETY: just taken, 1000 bytes of initialised memory.
        let bytes = unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), 1000) };
        let clean = bytes.iter().all(|byte| *byte == 0);
        bytes.fill(0xff);
        arena.reset();
        (place, clean)
    };
    let first = place(true);
    assert!(first.1);
    assert_eq!(place(true), first);
    // Without `zero` the caller fills it.
    assert_eq!(place(false).0, first.0);
    assert_eq!(place(true), first);
}

#[test]
fn absurd_sizes_are_no_memory() {
    let mut arena = Arena::new(1 << 20);
    assert!(arena.take(usize::MAX, 1, 0, true).is_none());
    assert!(arena.take(usize::MAX - 5000, 1, 0, true).is_none());
    assert!(arena.take(usize::MAX / 2 - 8192, 1, 0, true).is_none());
    assert!(arena.take(8, 8, 0, true).is_some());
}
