//! Waiting between polls of the wires.

use std::time::{Duration, Instant};

use super::Waiting;

/// Polls that are followed only by a spin-loop hint.
const SPINS: u32 = 200;

/// Time for which a waiting thread yields, after spinning, before it sleeps.
const YIELD_TIME: Duration = Duration::from_micros(50);

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
}

impl Idle {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self {
            waiting,
            spins: 0,
            since: None,
        }
    }

    /// Whether the thread should sleep until it is woken, if a device can wake it.
    pub(super) fn should_sleep(&self) -> bool {
        self.waiting == Waiting::Adaptive
            && self
                .since
                .is_some_and(|since| since.elapsed() >= YIELD_TIME)
    }

    /// Pauses between two polls. Pauses grow with the duration of the wait.
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
                    std::thread::sleep((waited / SLEEP_DIVISOR).min(MAX_SLEEP));
                }
            }
        }
    }
}
