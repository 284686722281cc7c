//! The floor of the machine: the round trip between two threads.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bench_calls::buckets;

use super::Round;
use crate::bench::latency::Latency;
use crate::bench::os_threads;

/// A word on cache lines of its own, farther apart than prefetchers pair lines.
#[repr(align(256))]
struct Flag(AtomicU32);

/// The value that ends the answering thread.
const STOP: u32 = u32::MAX;

/// Polls before a waiting thread yields, possibly to the other thread.
const SPINS: u32 = 1 << 16;

/// Round trips between two readings of the clock if they are only counted: few, since each takes
/// milliseconds where other programs keep one of the two threads from running.
const BATCH: u64 = 32;

pub(super) fn measure(cores: Option<[usize; 2]>, time: Duration) -> anyhow::Result<Round> {
    let (ping, pong) = (Flag(AtomicU32::new(0)), Flag(AtomicU32::new(0)));
    let pinned_to = |core: Option<usize>| core.is_some_and(os_threads::pin_this);
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = pinned_to(cores.map(|[_, core]| core));
            let mut last = 0;
            loop {
                last = wait(&ping.0, |word| word != last);
                // Release pairs with the asker's acquire, since the words of a wire are ordered
                // like this too.
                pong.0.store(last, Ordering::Release);
                if last == STOP {
                    return pinned;
                }
            }
        });
        let asking = scope.spawn(|| {
            let pinned = pinned_to(cores.map(|[core, _]| core));
            let mut word = 0;
            let mut trip = || {
                word += 1;
                ping.0.store(word, Ordering::Release);
                wait(&pong.0, |answer| answer == word);
            };
            let rate = rate(&mut trip, time);
            let latency = latency(&mut trip, time);
            ping.0.store(STOP, Ordering::Release);
            (pinned, rate, latency)
        });
        let ((asks, rate, latency), answers) = match (asking.join(), answering.join()) {
            (Ok(asking), Ok(answering)) => (asking, answering),
            _ => anyhow::bail!("the threads that measure the floor panicked"),
        };
        Ok(Round {
            rate,
            latency: latency?,
            pinned: asks && answers,
        })
    })
}

/// Waits until `flag` has an expected value, and returns it.
fn wait(flag: &AtomicU32, done: impl Fn(u32) -> bool) -> u32 {
    let mut spins = 0;
    loop {
        let word = flag.load(Ordering::Acquire);
        if done(word) {
            return word;
        }
        spins += 1;
        if spins < SPINS {
            spin_loop();
        } else {
            spins = 0;
            std::thread::yield_now();
        }
    }
}

/// Round trips a second.
fn rate(trip: &mut impl FnMut(), time: Duration) -> f64 {
    // Caches and clock frequencies are cold during the first batch.
    (0..BATCH).for_each(|_| trip());
    let start = Instant::now();
    let mut trips = 0;
    while start.elapsed() < time {
        (0..BATCH).for_each(|_| trip());
        trips += BATCH;
    }
    trips as f64 / start.elapsed().as_secs_f64()
}

/// Times of round trips, measured as the kernels measure their calls.
fn latency(trip: &mut impl FnMut(), time: Duration) -> anyhow::Result<Latency> {
    let mut counts = vec![0u32; buckets::COUNT];
    let start = Instant::now();
    loop {
        let before = start.elapsed();
        trip();
        let after = start.elapsed();
        if after >= time {
            break;
        }
        counts[buckets::bucket((after - before).as_nanos() as u64)] += 1;
    }
    let mut latency = Latency::new()?;
    // The ticks are nanoseconds.
    latency.add_buckets(&counts, 1.0);
    Ok(latency)
}
