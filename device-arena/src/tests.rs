use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

impl Arena {
    fn zeros(&self, bytes: u64) -> Option<u64> {
        self.alloc(bytes, Fill::Zeros)
    }
}

#[test]
fn blocks_are_found_split_and_merged() {
    let arena = Arena::new(1 << 20, None).unwrap();
    let a = arena.zeros(1000).unwrap();
    let b = arena.zeros(1).unwrap();
    let c = arena.zeros(5000).unwrap();
    assert!(
        [a, b, c]
            .iter()
            .all(|address| address.is_multiple_of(ALIGN))
    );
    assert_eq!(arena.contains(a, 1000), Some(true));
    assert_eq!(
        arena.contains(a, 1001),
        Some(false),
        "one byte past what was asked for"
    );
    assert_eq!(arena.contains(a + 999, 1), Some(true));
    assert_eq!(arena.contains(a, u64::MAX), Some(false));
    assert_eq!(arena.contains(0x1000, 1), None);
    arena.free(b);
    arena.free(b);
    arena.free(a);
    assert_eq!(arena.contains(a, 1), Some(false));
    arena.free(c);
    assert_eq!(arena.used(), 0);
    assert!(
        arena.zeros(1 << 20).is_some(),
        "all of it is one block again"
    );
    assert!(arena.zeros(1).is_none());
}

#[test]
fn blocks_are_aligned_as_asked() {
    let arena = Arena::new(1 << 20, None).unwrap();
    let arena = arena.with_gaps().with_alignment(4096);
    let blocks: Vec<u64> = [1, 4096, 5000, 3840, 1]
        .map(|bytes| arena.zeros(bytes).unwrap())
        .into();
    assert!(blocks.iter().all(|address| address.is_multiple_of(4096)));
    blocks.iter().for_each(|&address| arena.free(address));
    assert_eq!(arena.zeros(1 << 20).map(|address| address % 4096), Some(0));
}

#[test]
fn memory_is_zeroed_again() {
    let arena = Arena::new(1 << 20, None).unwrap();
    let a = arena.zeros(64).unwrap();
    // SAFETY: `a` is a block of 64 bytes of ours.
    unsafe { std::ptr::write_bytes(a as *mut u8, 7, 64) };
    arena.free(a);
    let b = arena.zeros(64).unwrap();
    // SAFETY: `b` is a block of 64 bytes of ours.
    assert_eq!(unsafe { *(b as *const u64) }, 0);
}

#[test]
fn freed_memory_keeps_what_it_had_for_those_who_take_anything() {
    let arena = Arena::new(1 << 20, None).unwrap();
    for bytes in [64, 100 << 10] {
        let a = arena.zeros(bytes).unwrap();
        // SAFETY: `a` is a block of `bytes` bytes of ours.
        unsafe { (a as *mut u64).write(7) };
        arena.free(a);
        assert_eq!(
            arena.alloc(bytes, Fill::Any),
            Some(a),
            "the block that was freed"
        );
        // SAFETY: the block was allocated again, with the same size.
        assert_eq!(unsafe { *(a as *const u64) }, 7);
    }
}

#[test]
fn kept_blocks_make_room_for_others() {
    let arena = Arena::new(1 << 20, None).unwrap();
    let blocks: Vec<u64> = (0..4096).map(|_| arena.zeros(ALIGN).unwrap()).collect();
    assert_eq!(arena.zeros(1), None);
    for &block in &blocks {
        arena.free(block);
        assert_eq!(arena.contains(block, 1), Some(false));
        assert_eq!(arena.block(block), None);
    }
    assert!(arena.zeros(512 << 10).is_some());
    assert!(arena.zeros(512 << 10).is_some());
}

#[test]
fn only_whole_pages_are_given_back() {
    for page in [4 << 10, 64 << 10] {
        assert_eq!(whole_pages(0, page, page), 0..page);
        assert_eq!(whole_pages(256, 2 * page, page), page..2 * page);
        assert!(whole_pages(256, page, page).is_empty());
    }
}

#[test]
fn what_is_very_long_gives_its_pages_back() {
    let arena = Arena::new(4 << 30, None).unwrap();
    let short = arena.zeros(MAX_WITH_PAGES).unwrap();
    let long = arena.zeros(MAX_WITH_PAGES + 1).unwrap();
    let page = page_size();
    for block in [short, long] {
        // SAFETY: the block is ours, and longer.
        unsafe { ((block + page) as *mut u64).write(7) };
        arena.free(block);
    }
    let resident = |block: u64| {
        let mut state = 0u8;
        // SAFETY: one page of the arena, and one byte for it.
        let failed = unsafe { libc::mincore((block + page) as *mut _, 1, &raw mut state) };
        assert_eq!(failed, 0);
        state & 1 == 1
    };
    assert!(resident(short) && !resident(long));
}

#[derive(Clone, Debug)]
enum Step {
    Alloc(u64, bool),
    Free(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![0..2000u64, (1..40u64).prop_map(|n| n * 8192), 0..300_000u64];
    prop_oneof![
        3 => (bytes, any::<bool>()).prop_map(|(bytes, zeros)| Step::Alloc(bytes, zeros)),
        2 => any::<usize>().prop_map(Step::Free),
    ]
}

/// The bytes of a block.
fn block_at(address: u64, bytes: u64) -> &'static mut [u8] {
    // SAFETY: a block of the arena; this thread uses one slice at a time.
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes as usize) }
}

proptest! {
    #[test]
    fn blocks_are_apart_and_what_was_asked_for(steps in prop::collection::vec(step(), 1..200)) {
        let arena = Arena::new(1 << 20, None).unwrap();
        let mut blocks = BTreeMap::new();
        for step in steps {
            match step {
                Step::Alloc(bytes, zeros) => {
                    let fill = if zeros { Fill::Zeros } else { Fill::Any };
                    let Some(address) = arena.alloc(bytes, fill) else {
                        continue;
                    };
                    prop_assert!(address.is_multiple_of(ALIGN));
                    let block = block_at(address, bytes);
                    prop_assert!(!zeros || block.iter().all(|&byte| byte == 0));
                    // Each block has another value, so that an overlap shows.
                    block.fill(blocks.len() as u8 + 1);
                    blocks.insert(address, (bytes, blocks.len() as u8 + 1));
                }
                Step::Free(which) => {
                    let Some(&address) = blocks.keys().nth(which % blocks.len().max(1)) else {
                        continue;
                    };
                    arena.free(address);
                    arena.free(address);
                    blocks.remove(&address);
                    prop_assert_eq!(arena.contains(address, 1), Some(false));
                    prop_assert_eq!(arena.block(address), None);
                }
            }
        }
        for (&address, &(bytes, mark)) in &blocks {
            prop_assert_eq!(arena.block(address), Some(bytes));
            prop_assert_eq!(arena.contains(address, bytes), Some(true));
            prop_assert_eq!(arena.contains(address, bytes + 1), Some(false));
            prop_assert!(block_at(address, bytes).iter().all(|&byte| byte == mark));
        }
        let starts: Vec<_> = blocks.iter().map(|(&address, &(bytes, _))| (address, bytes)).collect();
        prop_assert!(starts.windows(2).all(|pair| pair[0].0 + pair[0].1.max(1) <= pair[1].0));
        let used: u64 = starts.iter().map(|(_, bytes)| bytes.max(&1).next_multiple_of(ALIGN)).sum();
        prop_assert_eq!(arena.used(), used);
        for &address in blocks.keys() {
            arena.free(address);
        }
        prop_assert_eq!(arena.used(), 0);
        prop_assert!(arena.alloc(1 << 20, Fill::Any).is_some(), "all of it is one block again");
    }
}

#[test]
fn gaps_keep_blocks_apart_while_there_is_room() {
    let arena = Arena::new(1 << 20, None).unwrap().with_gaps();
    let blocks: Vec<_> = std::iter::from_fn(|| arena.alloc(ALIGN, Fill::Zeros)).collect();
    let apart = blocks
        .windows(2)
        .filter(|pair| pair[1] >= pair[0] + 2 * ALIGN);
    assert_eq!(blocks.len(), (1 << 20) / (2 * ALIGN as usize));
    assert_eq!(apart.count(), blocks.len() - 1);
    assert_eq!(
        arena.used(),
        blocks.len() as u64 * ALIGN,
        "gaps are not counted"
    );
    for &block in &blocks {
        arena.free(block);
    }
    assert_eq!(arena.used(), 0);
    // Without room for a gap.
    assert!(arena.alloc(1 << 20, Fill::Zeros).is_some());
}

#[test]
fn freed_memory_is_not_reused_at_once() {
    let arena = Arena::new(64 << 20, None).unwrap().with_delayed_reuse();
    for bytes in [100, 1 << 20] {
        let block = arena.alloc(bytes, Fill::Zeros).unwrap();
        arena.free(block);
        assert_eq!(arena.freed(block + bytes - 1), Some((block, bytes)));
        assert_eq!(arena.freed(block + bytes), None);
        for _ in 0..16 {
            let other = arena.alloc(bytes, Fill::Zeros).unwrap();
            assert_ne!(other, block);
            arena.free(other);
        }
    }
    assert_eq!(arena.used(), 0);
    assert!(
        arena.alloc(64 << 20, Fill::Any).is_some(),
        "memory runs short"
    );
}
