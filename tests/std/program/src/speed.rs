//! Speed of input and output, and how it is measured.

use std::fs::File;
use std::io::Read;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Prints `count` lines from each of `threads` threads, and to the standard error how many these are per
/// second.
pub fn print(threads: usize, count: usize) {
    let lines = || (0..count).for_each(|n| println!("a line with its number, {n}"));
    eprintln!(
        "{threads} threads: {:.0} lines/s",
        rate(threads, count, lines)
    );
}

/// Reads a file by pieces of so many KiB. Prints its size, and to the standard error how long that took.
pub fn read(path: &str, piece: usize) {
    let mut file = File::open(path).expect("a file");
    let mut piece = vec![0; piece << 10];
    let start = Instant::now();
    let mut bytes = 0;
    loop {
        match file.read(&mut piece).expect("it can be read") {
            0 => break,
            read => bytes += read,
        }
    }
    eprintln!("{} ms", start.elapsed().as_millis());
    println!("{bytes}");
}

/// How often per second all of `threads` threads together do what `work` does `count` times, from the first
/// start to the last end.
pub fn rate(threads: usize, count: usize, work: impl Fn() + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let times: Vec<_> = thread::scope(|scope| {
        let timed = || {
            barrier.wait();
            let start = Instant::now();
            work();
            (start, Instant::now())
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(timed)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|times| times.expect("joined")).collect()
    });
    let start = times.iter().map(|times| times.0).min();
    let end = times.iter().map(|times| times.1).max();
    let (start, end) = start.zip(end).expect("there are threads");
    (threads * count) as f64 / (end - start).as_secs_f64()
}
