//! Waiting between two polls of the wires.

use std::time::{Duration, Instant};

use super::Waiting;

/// Looks that are followed by nothing but a pause of the processor.
const SPINS: u32 = 200;

/// Time until a waiting thread that has spun and yielded gives up the processor.
const YIELD_TIME: Duration = Duration::from_micros(50);

/// Sleeps are this part of the time waited so far, so that a request waits at
/// most so much longer than its predecessor took to come.
const SLEEP_PART: u32 = 8;

/// The longest sleep.
const LONGEST_SLEEP: Duration = Duration::from_micros(100);

/// One wait, from the last request to the next.
pub(super) struct Idle {
    waiting: Waiting,
    spins: u32,
    since: Option<Instant>,
}

impl Idle {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self {
            waiting,
            spins: 0,
            since: None,
        }
    }

    /// Whether it is time to sleep until woken, where that is possible.
    pub(super) fn is_over(&self) -> bool {
        self.waiting == Waiting::Adaptive
            && self
                .since
                .is_some_and(|since| since.elapsed() >= YIELD_TIME)
    }

    /// Waits a little, longer the longer the wait lasts.
    pub(super) fn wait(&mut self) {
        match self.waiting {
            Waiting::Sleep(time) => std::thread::sleep(time),
            Waiting::Adaptive if self.spins < SPINS => {
                self.spins += 1;
                std::hint::spin_loop();
            }
            Waiting::Adaptive => {
                let waited = self.since.get_or_insert_with(Instant::now).elapsed();
                if waited < YIELD_TIME {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep((waited / SLEEP_PART).min(LONGEST_SLEEP));
                }
            }
        }
    }
}
