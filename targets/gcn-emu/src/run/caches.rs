//! Caches of a compute unit that nothing keeps coherent, in weak memory mode.
//!
//! Each workgroup has caches of its own, which are empty when it starts: it may be on any compute unit.

use std::collections::HashMap;

use super::pending::Random;
use crate::weak::{Ignored, Weak};

/// Bytes of a line. Hardware's are longer; loads of as many bytes see one state of memory.
const LINE: u64 = 16;

/// Caches of a compute unit.
#[derive(Debug)]
pub(super) struct Caches {
    /// Of vector loads: the nearest first. On gfx11 there are two, which are invalidated one by one.
    vector: [HashMap<u64, u128>; 2],
    scalar: HashMap<u64, u128>,
    random: Random,
    ignores_invalidations: bool,
}

impl Caches {
    /// Empty caches. `salt` distinguishes workgroups.
    pub(super) fn new(weak: Weak, salt: u64) -> Self {
        Self {
            vector: [HashMap::new(), HashMap::new()],
            scalar: HashMap::new(),
            random: Random::new(weak.seed.get() ^ salt),
            ignores_invalidations: weak.ignores(Ignored::Invalidations),
        }
    }

    /// The begin of the line with an access; none if it crosses lines.
    pub(super) fn line(address: u64, bytes: u32) -> Option<u64> {
        let line = address / LINE * LINE;
        (address + u64::from(bytes) <= line + LINE).then_some(line)
    }

    /// The content that a vector load finds; none if it is not there, or happens to be evicted.
    pub(super) fn find(&mut self, line: u64) -> Option<u128> {
        let found = self.vector.iter().find_map(|level| level.get(&line));
        found.copied().filter(|_| self.random.below(2) == 0)
    }

    /// The content that a scalar load finds.
    pub(super) fn find_scalar(&mut self, line: u64) -> Option<u128> {
        let found = self.scalar.get(&line).copied();
        found.filter(|_| self.random.below(2) == 0)
    }

    pub(super) fn fill(&mut self, line: u64, content: u128) {
        for level in &mut self.vector {
            level.insert(line, content);
        }
    }

    pub(super) fn fill_scalar(&mut self, line: u64, content: u128) {
        self.scalar.insert(line, content);
    }

    /// A store of this compute unit, which also reaches its caches.
    pub(super) fn store(&mut self, address: u64, bytes: u32) {
        let first = address / LINE;
        let last = (address + u64::from(bytes.max(1)) - 1) / LINE;
        for level in &mut self.vector {
            for line in first..=last {
                level.remove(&(line * LINE));
            }
        }
    }

    /// Drops the content of some vector caches.
    pub(super) fn invalidate(&mut self, [first, second, _]: [bool; 3]) {
        for (level, drops) in self.vector.iter_mut().zip([first, second]) {
            if drops && !self.ignores_invalidations {
                level.clear();
            }
        }
    }

    /// Drops the content of the scalar cache.
    pub(super) fn invalidate_scalar(&mut self) {
        if !self.ignores_invalidations {
            self.scalar.clear();
        }
    }
}
