//! The floor: what two threads need to hand a word over and back, with nothing
//! between them but the two words. No call to another processor is faster.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bench_calls::buckets;

use super::latency::Latency;
use super::report::Floor;
use super::{rates, tasks};

/// A word on lines of its own, as far apart as prefetchers pair lines, and more.
#[repr(align(256))]
struct Flag(AtomicU32);

/// What ends the answering thread.
const STOP: u32 = u32::MAX;

/// Looks before a waiting thread lets others run, who may be the other of the two.
const SPINS: u32 = 1 << 16;

/// Round trips between two looks at the clock where they are only counted.
const BATCH: u64 = 256;

/// The floor, and what was measured of it so far.
pub(crate) struct FloorCase {
    cores: Option<[usize; 2]>,
    rates: Vec<f64>,
    latency: Latency,
    pinned: bool,
}

impl FloorCase {
    /// To be measured with a thread on each of the `cores`.
    pub(crate) fn new(cores: Option<[usize; 2]>) -> anyhow::Result<Self> {
        Ok(Self {
            cores,
            rates: Vec::new(),
            latency: Latency::new()?,
            pinned: true,
        })
    }

    /// Measures once more.
    pub(crate) fn round(&mut self, time: Duration) -> anyhow::Result<()> {
        let Round {
            rate,
            latency,
            pinned,
        } = measure(self.cores, time)?;
        self.rates.push(rate);
        self.latency.merge(&latency)?;
        self.pinned &= pinned;
        Ok(())
    }

    /// What was measured.
    pub(crate) fn figures(&self) -> Floor {
        Floor {
            p50_ns: self.latency.percentile(50.0),
            p99_ns: self.latency.percentile(99.0),
            rate: rates(&self.rates),
            cores: self.cores.filter(|_| self.pinned),
        }
    }
}

/// What one round finds.
struct Round {
    rate: f64,
    latency: Latency,
    pinned: bool,
}

fn measure(cores: Option<[usize; 2]>, time: Duration) -> anyhow::Result<Round> {
    let (ping, pong) = (Flag(AtomicU32::new(0)), Flag(AtomicU32::new(0)));
    let pinned_to = |core: Option<usize>| core.is_some_and(tasks::pin_this);
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = pinned_to(cores.map(|[_, core]| core));
            let mut last = 0;
            loop {
                last = wait(&ping.0, |word| word != last);
                // Release pairs with the asker's acquire: what a wire orders by
                // these words, the floor orders too.
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

/// Waits until `flag` is as it should be, and returns it.
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
    // The first find caches and clock frequencies cold.
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
    let mut last = 0;
    while u128::from(last) < time.as_nanos() {
        trip();
        let now = start.elapsed().as_nanos() as u64;
        counts[buckets::bucket(now - last)] += 1;
        last = now;
    }
    let mut latency = Latency::new()?;
    latency.add_buckets(&counts)?;
    Ok(latency)
}
