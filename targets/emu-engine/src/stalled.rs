//! Whether a block repeats itself without progress.

use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Turns without a new state after which a block counts as looping.
const LOOPING_TURNS: u32 = 64;

/// The most states that are remembered.
const MAX_STATES: usize = 1 << 16;

/// The time since a block has made progress, and its states since.
#[derive(Debug, Default)]
pub struct Stalled {
    since: Option<Instant>,
    seen: HashSet<u64>,
    known: u32,
}

impl Stalled {
    /// Records progress.
    pub fn reset(&mut self) {
        self.since = None;
        self.seen.clear();
        self.known = 0;
    }

    /// The time without progress, until now.
    pub fn duration(&mut self) -> Duration {
        self.since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Records the state of the block after a turn, by a hash. Returns whether it loops.
    pub fn loops(&mut self, state: u64) -> bool {
        if self.seen.insert(state) {
            self.known = 0;
        } else {
            self.known += 1;
        }
        if self.seen.len() > MAX_STATES {
            self.reset();
        }
        self.known >= LOOPING_TURNS
    }
}
