//! Threads.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub fn check() {
    let squares: Vec<_> = (0..4_u64).map(|n| thread::spawn(move || n * n)).collect();
    println!(
        "{:?}",
        squares
            .into_iter()
            .map(|thread| thread.join().expect("joined"))
            .collect::<Vec<_>>()
    );

    let mut data = vec![0_u32; 1000];
    let calls = AtomicU32::new(0);
    thread::scope(|scope| {
        for part in data.chunks_mut(250) {
            scope.spawn(|| {
                for value in part {
                    *value = calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    data.sort_unstable();
    println!(
        "{} {}",
        calls.into_inner(),
        data == (0..1000).collect::<Vec<_>>()
    );

    let (sender, receiver) = mpsc::channel();
    for n in 0..3 {
        let sender = sender.clone();
        thread::spawn(move || (0..100).for_each(|m| sender.send(n * 100 + m).expect("sent")));
    }
    drop(sender);
    let mut received: Vec<i32> = receiver.iter().collect();
    received.sort_unstable();
    println!("{}", received == (0..300).collect::<Vec<_>>());

    let named = thread::Builder::new().name("a name".into());
    let name = named
        .spawn(|| thread::current().name().map(str::to_owned))
        .expect("spawned");
    println!("{:?}", name.join().expect("joined"));

    let sleeper = thread::spawn(|| {
        thread::park();
        "unparked"
    });
    sleeper.thread().unpark();
    println!("{}", sleeper.join().expect("joined"));

    // All that there are, again and again: a scope ends before its threads are idle.
    let started = AtomicU32::new(0);
    for _ in 0..30 {
        thread::scope(|scope| {
            for _ in 0..7 {
                scope.spawn(|| started.fetch_add(1, Ordering::Relaxed));
            }
        });
    }
    println!("{started:?}");

    // More than there are at a time, one after the other.
    let sum: u32 = (0..50)
        .map(|n| thread::spawn(move || n).join().expect("joined"))
        .sum();
    println!("{sum}");
}

/// Starts threads until there is an error.
pub fn too_many() {
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = std::sync::Arc::new(std::sync::Mutex::new(receiver));
    let mut threads = Vec::new();
    let error = loop {
        let receiver = receiver.clone();
        let wait = move || drop(receiver.lock().map(|receiver| receiver.recv()));
        match thread::Builder::new().spawn(wait) {
            Ok(thread) => threads.push(thread),
            Err(error) => break error,
        }
    };
    println!("{} threads: {error}", threads.len());
    drop(sender);
    for thread in threads {
        thread.join().expect("joined");
    }
}

/// A thread panics while another one changes a variable of the thread that waits for both.
pub fn scope_panics() {
    let mut variable = [0_u64; 1000];
    thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(3) {
                black_box(&mut variable)
                    .iter_mut()
                    .for_each(|word| *word += 1);
            }
        });
        scope.spawn(|| panic!("in a scope"));
    });
}

/// `main` returns while another thread waits.
pub fn detached() {
    thread::spawn(|| {
        loop {
            thread::park();
        }
    });
    println!("returns");
}

/// Joins threads that run for longer than a thread that joins looks by itself.
pub fn joins() {
    let start = Instant::now();
    for _ in 0..100 {
        let thread = thread::spawn(|| thread::sleep(Duration::from_millis(5)));
        thread.join().expect("joined");
    }
    let is_soon = start.elapsed() < Duration::from_secs(10);
    println!("100 joins, within 10 s: {is_soon}");
}
