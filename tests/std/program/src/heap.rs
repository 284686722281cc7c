//! The heap: its growth, its limit, and what it counts.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::hint::black_box;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Barrier, Mutex};
use std::thread;

/// Needs more and more memory, and checks what it has.
pub fn grows() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for n in 0..24_u8 {
        let mut bytes = Vec::with_capacity(4 << 20);
        bytes.push(n);
        kept.push(black_box(bytes));
    }
    let firsts: Vec<_> = kept.iter().map(|bytes| bytes[0]).collect();
    println!("{firsts:?}");
}

/// All threads exhaust the memory at the same time.
pub fn grows_at_once() {
    const THREADS: usize = 6;
    let barrier = Barrier::new(THREADS);
    let sum: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let kept: Vec<_> = (0..4)
                        .map(|_| {
                            let mut numbers = Vec::with_capacity((3 << 20) / size_of::<usize>());
                            numbers.push(n);
                            black_box(numbers)
                        })
                        .collect();
                    // All threads have theirs at the same time.
                    barrier.wait();
                    kept.iter().map(|numbers| numbers[0]).sum::<usize>()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("joined"))
            .sum()
    });
    println!("{sum}");
}

/// All threads ask for memory until there is none, and go on with what they have.
pub fn limit() {
    const THREADS: usize = 4;
    let barrier = Barrier::new(THREADS);
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                let mut kept = Vec::with_capacity(1000);
                loop {
                    let mut bytes = black_box(Vec::<u8>::new());
                    if bytes.try_reserve_exact(1 << 20).is_err() {
                        break;
                    }
                    kept.push(bytes);
                }
                *count.lock().expect("locked") += kept.len();
                // Nobody finds memory that another thread has freed.
                barrier.wait();
            });
        }
    });
    // All of it is free again.
    let again: Vec<_> = (0..count.into_inner().expect("unlocked") / 2)
        .map(|_| black_box(Vec::<u8>::with_capacity(1 << 20)))
        .collect();
    println!("{}", again.len() > 4);
}

/// Never frees `count` allocations of 100 bytes, and ends in one of several ways.
pub fn leak(count: usize, end: &str) {
    // Resized memory counts once, with its last size.
    let mut freed = black_box(vec![0_u8; 3000]);
    freed.extend_from_slice(&[1; 5000]);
    drop(black_box(freed));
    for _ in 0..count {
        black_box(Box::leak(Box::new([0_u8; 100])));
    }
    match end {
        "return" => {}
        "exit" => std::process::exit(3),
        "panic" => panic!("the end"),
        "thread" => thread::spawn(|| panic!("the end")).join().expect("never"),
        _ => panic!("no end {end}"),
    }
}

const ROUNDS: usize = 400;
const THREADS: usize = 4;

/// Each thread allocates, resizes and frees memory of random sizes and alignments, and passes some of it
/// on, which the next thread frees. Every byte has a value that only its owner knows.
pub fn stress() {
    // Devices, unlike this machine, align large memory.
    let is_aligned = |memory: &Vec<u8>| cfg!(unix) || memory.as_ptr().addr().is_multiple_of(128);
    let mut large = vec![1; 5000];
    assert!(is_aligned(&large));
    large.truncate(2000);
    large.shrink_to_fit();
    large.resize(4096, 2);
    assert!(is_aligned(&large) && large[1999..2001] == [1, 2]);
    drop(large);
    let (senders, mut receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::sync_channel(8)).unzip();
    receivers.rotate_left(1);
    thread::scope(|scope| {
        for (n, ends) in senders.into_iter().zip(receivers).enumerate() {
            scope.spawn(move || churn(Random(n as u64 + 1), &ends.0, &ends.1));
        }
    });
    println!("stressed");
}

fn churn(mut random: Random, next: &SyncSender<Memory>, previous: &Receiver<Memory>) {
    let mut kept: Vec<Memory> = Vec::new();
    for _ in 0..ROUNDS {
        match random.below(8) {
            0..4 => kept.push(Memory::new(&mut random)),
            4 if !kept.is_empty() => {
                let last = kept.len() - 1;
                kept[last].resize(random.size());
            }
            5 if !kept.is_empty() => {
                let memory = kept.swap_remove(random.below(kept.len()));
                if let Err(full) = next.try_send(memory) {
                    drop(full);
                }
            }
            6 => kept.extend(previous.try_recv()),
            _ if !kept.is_empty() => drop(kept.swap_remove(random.below(kept.len()))),
            _ => {}
        }
    }
}

/// Memory that is filled with a value, which is checked when it is freed.
struct Memory {
    start: *mut u8,
    layout: Layout,
    value: u8,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Memory {}

impl Memory {
    fn new(random: &mut Random) -> Self {
        let layout = Layout::from_size_align(random.size(), 1 << random.below(9)).expect("valid");
        // SAFETY: the size is above 0.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null());
        assert_eq!(start.addr() % layout.align(), 0);
        let value = random.below(256) as u8;
        // SAFETY: the memory has this size.
        unsafe { start.write_bytes(value, layout.size()) };
        Self {
            start,
            layout,
            value,
        }
    }

    fn resize(&mut self, size: usize) {
        // SAFETY: allocated with this layout; the size is above 0.
        self.start = unsafe { realloc(self.start, self.layout, size) };
        assert!(!self.start.is_null());
        assert_eq!(self.start.addr() % self.layout.align(), 0);
        let old = self.layout.size();
        self.layout = Layout::from_size_align(size, self.layout.align()).expect("valid");
        self.check(old.min(size));
        // SAFETY: the memory has this size.
        unsafe { self.start.write_bytes(self.value, size) };
    }

    fn check(&self, len: usize) {
        // SAFETY: the memory has at least this size, and was filled.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, len) };
        assert!(bytes.iter().all(|byte| *byte == self.value));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.check(self.layout.size());
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Xorshift, with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }

    /// Small sizes are the most frequent ones.
    fn size(&mut self) -> usize {
        let most = [16, 64, 256, 1100, 3000][self.below(5)];
        1 + self.below(most)
    }
}
