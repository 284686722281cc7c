//! The loops that count and time any call.

use bench_calls::buckets;
use revoff_device::thread;

/// An interval of the device's time, in nanoseconds of [`thread::clock`].
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl Window {
    /// The interval of `time` that begins `warm_up` from now.
    pub(crate) fn after(warm_up: u64, time: u64) -> Self {
        let from = thread::clock() + warm_up;
        Self {
            from,
            until: from + time,
        }
    }
}

/// Calls until the window ends; returns the number of calls in it. Reads the clock after every
/// `batch` calls. 0 if a call failed.
pub(crate) fn count(window: Window, batch: u64, mut call: impl FnMut() -> bool) -> u64 {
    let mut counted = 0;
    loop {
        for _ in 0..batch {
            if !call() {
                return 0;
            }
        }
        let time = thread::clock();
        if time >= window.until {
            return counted;
        }
        if time >= window.from {
            counted += batch;
        }
    }
}

/// A moment, by both clocks.
#[derive(Clone, Copy)]
struct Moment {
    ns: u64,
    tick: u64,
}

/// Now: of several pairs of readings, the one with the least time in between.
fn moment() -> Moment {
    let mut best = Moment { ns: 0, tick: 0 };
    let mut least = u64::MAX;
    for _ in 0..4 {
        let before = thread::ticks();
        let ns = thread::clock();
        let took = thread::ticks() - before;
        if took < least {
            least = took;
            let tick = before + took / 2;
            best = Moment { ns, tick };
        }
    }
    best
}

/// The length of ticks: the clock and the ticks since construction.
#[derive(Clone, Copy)]
pub(crate) struct Calibration(Moment);

impl Calibration {
    pub(crate) fn begin() -> Self {
        Self(moment())
    }

    /// The nanoseconds and the ticks so far.
    pub(crate) fn span(self) -> [u64; 2] {
        let now = moment();
        [now.ns - self.0.ns, now.tick - self.0.tick]
    }
}

/// Calls until the window ends, and counts in `times`, by [`buckets`], the ticks of each call in
/// it, without the cost of counting and of reading the clock. Without `times` it does the same and
/// counts nothing, so that lanes with and without counts stay together.
///
/// Returns the total nanoseconds and ticks.
pub(crate) fn time(
    window: Window,
    mut times: Option<&mut [u32; buckets::COUNT]>,
    mut call: impl FnMut() -> bool,
) -> [u64; 2] {
    let calibration = Calibration::begin();
    loop {
        let start = thread::ticks();
        if !call() {
            return [0; 2];
        }
        let end = thread::ticks();
        let now = thread::clock();
        if now >= window.until {
            return calibration.span();
        }
        if let Some(times) = &mut times
            && now >= window.from
        {
            times[buckets::bucket(end - start)] += 1;
        }
    }
}
