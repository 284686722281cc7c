//! Atomics of one and two bytes, which no GPU has: neighbours must not notice.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI8, AtomicI16, AtomicU8, AtomicU16};
use std::thread;

static FLAG: AtomicBool = AtomicBool::new(false);

macro_rules! operations {
    ($atomic:ty, $value:ty) => {{
        let all = [
            <$atomic>::new(5),
            <$atomic>::new(<$value>::MAX),
            <$atomic>::new(<$value>::MIN),
        ];
        for value in &all {
            print!("{} ", value.swap(3, AcqRel));
            print!("{} ", value.fetch_add(<$value>::MAX, Relaxed));
            print!("{} ", value.fetch_sub(7, Release));
            print!("{} ", value.fetch_and(0x7a, Acquire));
            print!("{} ", value.fetch_nand(0x2c, SeqCst));
            print!("{} ", value.fetch_or(0x41, AcqRel));
            print!("{} ", value.fetch_xor(!0, AcqRel));
            print!("{} ", value.fetch_max(9, AcqRel));
            print!("{} ", value.fetch_min(<$value>::MAX - 1, AcqRel));
            print!("{} ", value.fetch_min(<$value>::MIN, AcqRel));
            print!("{} ", value.fetch_max(2, AcqRel));
            print!("{:?} ", value.compare_exchange(2, 1, SeqCst, Acquire));
            print!("{:?} ", value.compare_exchange(2, 6, Release, Acquire));
            print!(
                "{:?} ",
                value.fetch_update(AcqRel, Relaxed, |now| now.checked_add(4))
            );
            value.store(value.load(Acquire).wrapping_sub(9), Release);
        }
        println!("{all:?}");
    }};
}

pub fn check() {
    operations!(AtomicU8, u8);
    operations!(AtomicI8, i8);
    operations!(AtomicU16, u16);
    operations!(AtomicI16, i16);

    // Each thread has a byte of its own, and all have one in their midst.
    let bytes = [const { AtomicU8::new(0) }; 5];
    thread::scope(|scope| {
        for n in [0, 1, 3, 4] {
            let bytes = &bytes;
            scope.spawn(move || {
                for round in 0..100 {
                    bytes[n].store(round, Relaxed);
                    bytes[2].fetch_add(1, Relaxed);
                    assert_eq!(bytes[n].swap(0, Relaxed), round);
                }
                bytes[n].store(n as u8, Relaxed);
            });
        }
    });
    println!("{bytes:?}");

    // A byte publishes what was written before.
    let mut text = String::new();
    thread::scope(|scope| {
        let text = &mut text;
        scope.spawn(move || {
            text.push_str("published");
            FLAG.store(true, Release);
        });
        while !FLAG.load(Acquire) {
            thread::yield_now();
        }
    });
    println!("{text} {}", FLAG.swap(false, SeqCst));
}
