//! Waiting between polls of the wires.

use std::time::{Duration, Instant};

use super::Waiting;
use crate::base::sleep::{YieldTime, spins};

/// Polls that are followed only by a spin-loop hint, unless threads share a processor.
const SPINS: u32 = 200;

/// Divisor of the time waited so far: the duration of a sleep. So a sleep adds at most this part to
/// the time between two requests.
const SLEEP_DIVISOR: u32 = 8;

/// The longest sleep.
const MAX_SLEEP: Duration = Duration::from_micros(100);

/// One wait, from a request to the next.
pub(super) struct Idle {
    waiting: Waiting,
    spins: u32,
    since: Option<Instant>,
    /// The time for which it yields, after spinning, before it sleeps.
    yield_time: YieldTime,
}

impl Idle {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self::with_yield_time(waiting, YieldTime::LONGEST)
    }

    /// A wait after others that led to this time.
    pub(super) fn with_yield_time(waiting: Waiting, yield_time: YieldTime) -> Self {
        Self {
            waiting,
            spins: 0,
            since: None,
            yield_time,
        }
    }

    /// The time for the next wait, if this one ends now, after a sleep.
    pub(super) fn next_yield_time(&self) -> YieldTime {
        match self.since {
            Some(since) => self.yield_time.after(since.elapsed()),
            None => self.yield_time,
        }
    }

    /// Whether the thread should sleep until it is woken, if a device can wake it.
    pub(super) fn should_sleep(&self) -> bool {
        self.waiting == Waiting::Adaptive
            && self
                .since
                .is_some_and(|since| self.yield_time.is_over(since.elapsed()))
    }

    /// Pauses between two polls. Pauses grow with the duration of the wait.
    pub(super) fn wait(&mut self) {
        match self.waiting {
            Waiting::Sleep(time) => std::thread::sleep(time),
            Waiting::Adaptive if self.spins < spins(SPINS) => {
                self.spins += 1;
                std::hint::spin_loop();
            }
            Waiting::Adaptive => {
                let waited = self.since.get_or_insert_with(Instant::now).elapsed();
                if !self.yield_time.is_over(waited) {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep((waited / SLEEP_DIVISOR).min(MAX_SLEEP));
                }
            }
        }
    }
}
