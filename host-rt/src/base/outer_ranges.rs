//! Ranges that may overlap, for the question whether one of them contains an address.

use std::collections::BTreeMap;

/// Ranges of device addresses, which may overlap. A range inside another one is not kept.
#[derive(Clone, Debug, Default)]
pub struct OuterRanges {
    /// End by start. Ends rise with starts, so that one look-up decides.
    ends: BTreeMap<u64, u64>,
}

impl OuterRanges {
    /// No ranges.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ends: BTreeMap::new(),
        }
    }

    /// Adds the range of `len` bytes from `start` on, cut at the end of the address space.
    pub fn insert(&mut self, start: u64, len: u64) {
        let end = start.saturating_add(len);
        if self.end_from(start).is_some_and(|other| other >= end) {
            return;
        }
        while let Some((&inside, _)) = self
            .ends
            .range(start..)
            .next()
            .filter(|(_, other)| **other <= end)
        {
            self.ends.remove(&inside);
        }
        self.ends.insert(start, end);
    }

    /// The last end of the ranges that begin at or before `address`.
    #[must_use]
    pub fn end_from(&self, address: u64) -> Option<u64> {
        self.ends.range(..=address).next_back().map(|(_, &end)| end)
    }

    /// Whether one range contains the `len` bytes from `start` on. The empty range at the end of a
    /// range lies in it.
    #[must_use]
    pub fn contains(&self, start: u64, len: u64) -> bool {
        let end = start.checked_add(len);
        end.is_some_and(|end| self.end_from(start).is_some_and(|other| end <= other))
    }
}

#[cfg(test)]
mod tests {
    use super::OuterRanges;

    #[test]
    fn a_range_inside_another_is_not_kept() {
        let mut ranges = OuterRanges::new();
        for (start, len) in [
            (8, 16),
            (0, 16),
            (10, 10),
            (4, 12),
            (40, 4),
            (44, 16),
            (8, 24),
        ] {
            ranges.insert(start, len);
        }
        let kept: Vec<_> = ranges
            .ends
            .iter()
            .map(|(&start, &end)| (start, end))
            .collect();
        assert_eq!(kept, [(0, 16), (8, 32), (40, 44), (44, 60)]);
    }

    #[test]
    fn one_range_contains_the_bytes() {
        let mut ranges = OuterRanges::new();
        for (start, len) in [(0, 16), (8, 24), (40, 4), (44, 16), (u64::MAX - 8, 100)] {
            ranges.insert(start, len);
        }
        let inside: Vec<u64> = (0..64).filter(|&at| ranges.contains(at, 8)).collect();
        // 0 to 24 across two ranges that overlap; 40 not, in two ranges that touch.
        let expected: Vec<u64> = (0..=24).chain(44..=52).collect();
        assert_eq!(inside, expected);
        assert!(ranges.contains(32, 0) && !ranges.contains(33, 0));
        assert!(ranges.contains(u64::MAX - 8, 8) && !ranges.contains(u64::MAX - 7, 8));
    }
}
