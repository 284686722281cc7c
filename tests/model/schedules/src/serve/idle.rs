//! Stand-in for waiting between polls: it chooses at random when to sleep.

use super::Waiting;
use crate::base::random::chance;
use crate::base::sleep::YieldTime;
use crate::base::sync::yield_now;

pub(super) struct Idle {
    waiting: Waiting,
    has_waited: bool,
}

impl Idle {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self {
            waiting,
            has_waited: false,
        }
    }

    pub(super) fn with_yield_time(waiting: Waiting, _: YieldTime) -> Self {
        Self::new(waiting)
    }

    pub(super) fn next_yield_time(&self) -> YieldTime {
        YieldTime
    }

    pub(super) fn should_sleep(&self) -> bool {
        self.waiting == Waiting::Adaptive && self.has_waited && chance(2)
    }

    pub(super) fn wait(&mut self) {
        self.has_waited = true;
        yield_now();
    }
}
