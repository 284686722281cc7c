//! Tests with random numbers: these numbers, and how many rounds there are.

use std::env;

/// The number of rounds, instead of the default one.
const ROUNDS: &str = "REVOFF_TEST_ROUNDS";

/// The number of rounds: of the environment, or the default one.
pub(crate) fn rounds(default: u64) -> u64 {
    let rounds = env::var(ROUNDS);
    rounds.map_or(default, |rounds| {
        rounds.parse().expect("a number of rounds")
    })
}

/// Numbers that repeat with their seed: a linear congruential generator, whose lower bits are not used.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % bound
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
