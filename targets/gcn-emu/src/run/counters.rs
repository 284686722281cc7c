//! Counters of outstanding operations.

use crate::arch::Generation;

/// A counter of outstanding operations, for which code waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    /// Loads from memory; on gfx9 stores, too.
    Load = 0,
    /// Stores to memory.
    Store = 1,
    /// LDS; before gfx12 scalar loads, too.
    Lds = 2,
    /// Scalar loads.
    Scalar = 3,
}

/// The number of counters.
pub(super) const COUNTERS: usize = 4;

impl Counter {
    /// The counter of an architecture that counts these operations.
    pub(super) fn on(self, generation: Generation) -> Self {
        match (self, generation) {
            (Self::Store, Generation::Gfx9) => Self::Load,
            (Self::Scalar, Generation::Gfx9 | Generation::Gfx11) => Self::Lds,
            (counter, _) => counter,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(u8);

impl Counters {
    pub(super) fn one(counter: Counter) -> Self {
        Self(counter.bit())
    }

    pub(super) fn and(self, counter: Counter) -> Self {
        Self(self.0 | counter.bit())
    }

    pub(super) fn has(self, counter: usize) -> bool {
        self.0 >> counter & 1 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Takes a counter off the set. Returns whether it was the last.
    pub(super) fn remove(&mut self, counter: usize) -> bool {
        self.0 &= !(1 << counter);
        self.0 == 0
    }
}
