//! The signs that lanes are spinning, recorded while others of their warp wait: polls without
//! success, and cycles of their registers (see [`progress`](super::progress)).

use std::time::Instant;

use crate::alu::Mask;

/// Unsuccessful polls after which a group counts as spinning: more than a loop with a volatile
/// bound makes, and few enough for a fraction of a second.
const MANY_POLLS: u32 = 1 << 14;

/// Polls after which its registers are compared at each poll.
pub(super) const SOME_POLLS: u32 = 64;

/// How often a group that changes memory comes back to the same registers before it counts as
/// spinning.
pub(super) const ROUNDS: u32 = MANY_POLLS / SOME_POLLS;

/// Detects that a lane repeats a state while others of its warp wait. Source: Brent, "An Improved
/// Monte Carlo Factorization Algorithm" (1980).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CycleDetector {
    /// An earlier state of the lane.
    saved: u64,
    /// The number of states since, and the number after which the next is saved.
    steps: u32,
    limit: u32,
    /// How often the lane came back to it, and after how many steps at most.
    pub(super) times: u32,
    longest: u32,
}

impl CycleDetector {
    pub(super) fn step(&mut self, state: u64) {
        if self.limit > 0 && self.saved == state {
            self.times = self.times.saturating_add(1);
            self.longest = self.longest.max(self.steps);
            self.steps = 0;
            if self.times >= ROUNDS / 2 {
                // A short limit, so that a step out of the cycle is noticed soon.
                self.limit = self.limit.min(4 * (self.longest + 1));
            }
        } else if self.steps >= self.limit {
            *self = Self {
                saved: state,
                steps: 0,
                limit: self.limit.max(1).saturating_mul(2),
                // It has left its cycle, if it was in one.
                times: 0,
                longest: 0,
            };
        } else {
            self.steps += 1;
        }
    }
}

/// The cycles of a lane, memory disregarded, while others of its warp wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub(super) cycle: CycleDetector,
    /// Accesses and turns since its state was last compared.
    pub(super) steps: u32,
}

/// The polls of a group while others of its warp wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Polling {
    /// Unsuccessful polls of memory that others change.
    pub(super) polls: u32,
    /// Lanes whose last atomic operation had an effect: their wait may be over.
    pub(super) acted: Mask,
    /// Whether there was an event for which it may wait since it began to sleep.
    pub(super) is_due: bool,
    /// Since when it has polled mapped memory in vain, and changed nothing.
    pub(super) host: Option<Instant>,
}

impl Polling {
    /// The polls of `lanes`, which leave the group.
    pub(super) fn of(&self, lanes: Mask) -> Self {
        if self.acted & lanes != 0 {
            return Self::default();
        }
        Self { acted: 0, ..*self }
    }

    /// Whether the number of its polls alone shows that the group is spinning.
    pub(super) fn is_spinning(&self) -> bool {
        self.acted == 0 && self.polls >= MANY_POLLS
    }

    /// Records an event for which the group may wait.
    pub(super) fn recheck(&mut self) {
        self.polls = self.polls.min(MANY_POLLS - 1);
        self.is_due = true;
    }

    /// Lanes of another group join those of this one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.polls = self.polls.max(other.polls);
        self.acted |= other.acted;
        self.host = match (self.host, other.host) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }
}
