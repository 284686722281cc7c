//! Ranges of addresses, and a map from them.

use std::collections::BTreeMap;
use std::fmt;

use super::debug_as_display;
pub use super::outer_ranges::OuterRanges;

/// A range of addresses, the host's or a device's, that does not wrap. It gives no permission to
/// access them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddrRange {
    start: usize,
    len: usize,
}

impl AddrRange {
    /// The `len` bytes from `start` on; `None` if they run past the end of the address
    /// space.
    #[must_use]
    pub fn new(start: impl TryInto<usize>, len: impl TryInto<usize>) -> Option<Self> {
        let (start, len): (usize, usize) = (start.try_into().ok()?, len.try_into().ok()?);
        start.checked_add(len).map(|_| AddrRange { start, len })
    }

    /// The range of `value`.
    #[must_use]
    pub fn of<T: ?Sized>(value: &T) -> Self {
        // No object wraps.
        AddrRange {
            start: std::ptr::from_ref(value).addr(),
            len: size_of_val(value),
        }
    }

    /// The first address.
    #[must_use]
    pub const fn start(self) -> usize {
        self.start
    }

    /// The address after the last.
    #[must_use]
    pub const fn end(self) -> usize {
        self.start + self.len
    }

    /// The number of bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether all of the non-empty `other` lies in this range.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }

    /// Whether the `len` bytes from `start` on lie in this range.
    #[must_use]
    pub fn has(self, start: impl TryInto<usize>, len: impl TryInto<usize>) -> bool {
        Self::new(start, len).is_some_and(|range| self.contains(range))
    }

    /// Whether the two have a byte in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl fmt::Display for AddrRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{:#x}, {:#x}) ({} bytes)",
            self.start,
            self.end(),
            self.len
        )
    }
}

/// The result of a look-up. `T` is a reference to the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// All of the range lies in this entry.
    Inside(AddrRange, T),
    /// The range shares bytes with this entry, but has others outside of it. If it shares bytes
    /// with several entries, this is the one with the lowest address.
    Partly(AddrRange, T),
    /// The range shares no byte with any entry.
    Absent,
}

impl Found<()> {
    fn map<T>(self, entry: impl FnOnce(AddrRange) -> T) -> Found<T> {
        match self {
            Found::Inside(at, ()) => Found::Inside(at, entry(at)),
            Found::Partly(at, ()) => Found::Partly(at, entry(at)),
            Found::Absent => Found::Absent,
        }
    }
}

/// The reason why a range was not inserted.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// It has no bytes.
    #[error("the range at host address {0:#x} is empty: there is nothing to be kept for it")]
    Empty(usize),
    /// It shares bytes with an entry.
    #[error("host data {range} overlaps {present}, which is there already: remove that first")]
    Overlap {
        /// The range to be inserted.
        range: AddrRange,
        /// The entry; the one with the lowest address if there are several.
        present: AddrRange,
    },
}

debug_as_display!(RangeError);

/// Entries for ranges of addresses that are not empty and do not overlap. It takes no lock and
/// accesses no memory: addresses are only keys.
///
/// An empty range lies in the entry that has the byte at its address; the end of an entry is
/// outside.
#[derive(Clone, Debug)]
pub struct RangeMap<T> {
    /// Length and entry, by start.
    entries: BTreeMap<usize, (usize, T)>,
}

impl<T> Default for RangeMap<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> RangeMap<T> {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        RangeMap {
            entries: BTreeMap::new(),
        }
    }

    /// Adds `entry` for `range`, and returns a reference to it.
    ///
    /// # Errors
    /// The range is empty, or shares bytes with an entry; the table is unchanged.
    pub fn insert(&mut self, range: AddrRange, entry: T) -> Result<&mut T, RangeError> {
        if range.is_empty() {
            return Err(RangeError::Empty(range.start));
        }
        if let Found::Inside(present, ()) | Found::Partly(present, ()) = self.place(range) {
            return Err(RangeError::Overlap { range, present });
        }
        let slot = self.entries.entry(range.start);
        Ok(&mut slot.or_insert((range.len, entry)).1)
    }

    /// The entry that `range` lies in.
    #[must_use]
    pub fn find(&self, range: AddrRange) -> Found<&T> {
        self.place(range).map(|at| &self.entries[&at.start].1)
    }

    /// Like [`find`](Self::find), with a mutable reference.
    #[must_use]
    pub fn find_mut(&mut self, range: AddrRange) -> Found<&mut T> {
        self.place(range).map(|at| {
            let entry = self.entries.get_mut(&at.start);
            &mut entry.expect("it was just found").1
        })
    }

    /// The entry whose range begins at `start`.
    #[must_use]
    pub fn get(&self, start: usize) -> Option<(AddrRange, &T)> {
        let (len, entry) = self.entries.get(&start)?;
        Some((AddrRange { start, len: *len }, entry))
    }

    /// The entry whose range begins at `start`, with a mutable reference.
    #[must_use]
    pub fn get_mut(&mut self, start: usize) -> Option<&mut T> {
        self.entries.get_mut(&start).map(|(_, entry)| entry)
    }

    /// The first entry that begins after `address`.
    #[must_use]
    pub fn after(&self, address: usize) -> Option<(AddrRange, &T)> {
        let after = (
            std::ops::Bound::Excluded(address),
            std::ops::Bound::Unbounded,
        );
        let (&start, (len, entry)) = self.entries.range(after).next()?;
        Some((AddrRange { start, len: *len }, entry))
    }

    /// The entries that share bytes with `range`, by address.
    pub fn overlapping(&self, range: AddrRange) -> impl Iterator<Item = (AddrRange, &T)> {
        // Only the last one of the earlier entries can overlap it.
        let before = self.entries.range(..range.start).next_back();
        let later = self.entries.range(range.start..range.end());
        let all = before.into_iter().chain(later);
        all.map(|(&start, (len, entry))| (AddrRange { start, len: *len }, entry))
            .filter(move |(at, _)| at.overlaps(range))
    }

    /// Removes the entry whose range begins at `start`.
    pub fn remove(&mut self, start: usize) -> Option<(AddrRange, T)> {
        let (len, entry) = self.entries.remove(&start)?;
        Some((AddrRange { start, len }, entry))
    }

    /// Removes the entries for which `keep` is false.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.entries.retain(|_, (_, entry)| keep(entry));
    }

    /// All entries, by address.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (AddrRange, &T)> {
        let entries = self.entries.iter();
        entries.map(|(&start, (len, entry))| (AddrRange { start, len: *len }, entry))
    }

    /// All entries, by address, with mutable references.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (AddrRange, &mut T)> {
        let entries = self.entries.iter_mut();
        entries.map(|(&start, (len, entry))| (AddrRange { start, len: *len }, entry))
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The position of `range` relative to the entries.
    fn place(&self, range: AddrRange) -> Found<()> {
        let at = |(&start, &(len, _)): (&usize, &(usize, T))| AddrRange { start, len };
        // Entries do not overlap each other, so only the last entry that begins at or before `range`
        // can overlap it.
        let before = self.entries.range(..=range.start).next_back().map(at);
        if let Some(before) = before.filter(|entry| entry.end() > range.start) {
            return match range.end() <= before.end() {
                true => Found::Inside(before, ()),
                false => Found::Partly(before, ()),
            };
        }
        // Later entries lack the first byte of `range`.
        let mut later = self.entries.range(range.start..range.end());
        match later.next().map(at) {
            Some(entry) => Found::Partly(entry, ()),
            None => Found::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn range(start: usize, len: usize) -> AddrRange {
        AddrRange::new(start, len).unwrap()
    }

    fn table() -> RangeMap<char> {
        let mut table = RangeMap::new();
        table.insert(range(20, 10), 'b').unwrap();
        table.insert(range(10, 5), 'a').unwrap();
        table.insert(range(30, 1), 'c').unwrap();
        table
    }

    #[test]
    fn looks_up() {
        let table = table();
        let (a, b) = (range(10, 5), range(20, 10));
        assert_eq!(table.find(a), Found::Inside(a, &'a'));
        assert_eq!(table.find(range(29, 1)), Found::Inside(b, &'b'));
        assert_eq!(table.find(range(29, 2)), Found::Partly(b, &'b'));
        assert_eq!(table.find(range(0, 100)), Found::Partly(a, &'a'));
        assert_eq!(table.find(range(14, 10)), Found::Partly(a, &'a'));
        assert_eq!(table.find(range(15, 5)), Found::Absent);
        assert_eq!(table.find(range(0, 10)), Found::Absent);
        assert_eq!(table.find(range(31, 9)), Found::Absent);
    }

    #[test]
    fn all_that_overlap() {
        let table = table();
        let found = |start, len| -> String {
            let overlapping = table.overlapping(range(start, len));
            overlapping.map(|(_, entry)| *entry).collect()
        };
        assert_eq!(found(0, 100), "abc");
        assert_eq!(found(14, 7), "ab");
        assert_eq!(found(29, 2), "bc");
        assert_eq!(found(22, 3), "b");
        assert_eq!((found(15, 5), found(31, 9)), (String::new(), String::new()));
    }

    #[test]
    fn an_empty_range_lies_where_its_byte_would() {
        let table = table();
        assert_eq!(table.find(range(20, 0)), Found::Inside(range(20, 10), &'b'));
        assert_eq!(table.find(range(30, 0)), Found::Inside(range(30, 1), &'c'));
        assert_eq!(table.find(range(15, 0)), Found::Absent);
        assert_eq!(table.find(range(usize::MAX, 0)), Found::Absent);
    }

    #[test]
    fn overlaps_and_empty_ranges_stay_out() {
        let mut table = table();
        let error = table.insert(range(12, 9), 'x').unwrap_err();
        assert_eq!(
            error.to_string(),
            "host data [0xc, 0x15) (9 bytes) overlaps [0xa, 0xf) (5 bytes), which is there \
             already: remove that first"
        );
        let empty = table.insert(range(17, 0), 'x');
        assert_eq!(empty, Err(RangeError::Empty(17)));
        assert_eq!(table.len(), 3);
        assert_eq!(AddrRange::new(usize::MAX, 1), None);
        assert_eq!(AddrRange::new(usize::MAX, 0).unwrap().end(), usize::MAX);
    }

    #[test]
    fn entries_change_and_go() {
        let mut table = table();
        if let Found::Inside(_, entry) = table.find_mut(range(11, 1)) {
            *entry = 'A';
        }
        *table.get_mut(20).unwrap() = 'B';
        assert_eq!(table.get_mut(21), None);
        assert_eq!(table.get(10), Some((range(10, 5), &'A')));
        for (at, entry) in table.iter_mut() {
            if at.len() == 1 {
                *entry = 'C';
            }
        }
        let all: Vec<_> = table
            .iter()
            .map(|(at, &entry)| (at.start(), entry))
            .collect();
        assert_eq!(all, [(10, 'A'), (20, 'B'), (30, 'C')]);
        assert_eq!(table.remove(12), None);
        assert_eq!(table.remove(10), Some((range(10, 5), 'A')));
        assert_eq!(table.find(range(10, 5)), Found::Absent);
        assert!(!table.is_empty());
    }

    #[test]
    fn a_value_has_a_range() {
        let values = [1u32, 2, 3];
        let (all, tail) = (AddrRange::of(&values), AddrRange::of(&values[1..]));
        assert_eq!((all.len(), tail.len()), (12, 8));
        assert_eq!((tail.start(), tail.end()), (all.start() + 4, all.end()));
        assert!(AddrRange::of(&()).is_empty());
        assert!(all.contains(tail) && !tail.contains(all) && all.overlaps(tail));
        assert!(!range(0, 4).overlaps(range(4, 4)) && !range(0, 4).contains(range(3, 2)));
        assert!(range(8, 4).has(10u64, 2u64) && !range(8, 4).has(10u64, u64::MAX));
    }

    /// Addresses of the model.
    const SPACE: usize = 48;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(usize, usize),
        Remove(usize),
        Find(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let span = || (0..SPACE, 0..12usize);
        prop_oneof![
            span().prop_map(|(start, len)| Step::Insert(start, len)),
            (0..SPACE).prop_map(Step::Remove),
            span().prop_map(|(start, len)| Step::Find(start, len)),
        ]
    }

    proptest! {
        /// Compares it with a model that stores the owner of each address.
        #[test]
        fn does_what_the_model_does(steps in prop::collection::vec(step(), 0..60)) {
            let mut table = RangeMap::new();
            let mut owner = [None::<usize>; SPACE + 12];
            for (id, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(start, len) => {
                        let free = owner[start..start + len].iter().all(Option::is_none);
                        let inserted = table.insert(range(start, len), id).is_ok();
                        prop_assert_eq!(inserted, free && len > 0);
                        if inserted {
                            owner[start..start + len].fill(Some(id));
                        }
                    }
                    Step::Remove(start) => {
                        let begins = owner[start].filter(|_| start == 0 || owner[start - 1] != owner[start]);
                        let removed = table.remove(start);
                        prop_assert_eq!(removed.map(|(_, id)| id), begins);
                        if let Some((at, id)) = removed {
                            let mine = owner.iter().filter(|&&owner| owner == Some(id)).count();
                            prop_assert_eq!((at.start(), at.len()), (start, mine));
                            owner[at.start()..at.end()].fill(None);
                        }
                    }
                    Step::Find(start, len) => {
                        let bytes = if len == 0 { &owner[start..=start] } else { &owner[start..start + len] };
                        let first = bytes.iter().flatten().next();
                        let whole = bytes.iter().all(|id| id == &bytes[0]);
                        match (table.find(range(start, len)), first) {
                            (Found::Inside(_, id), Some(owner)) => prop_assert!(id == owner && whole),
                            (Found::Partly(_, id), Some(owner)) => prop_assert!(id == owner && !whole),
                            (Found::Absent, None) => {}
                            (found, owner) => prop_assert!(false, "{:?}, not {:?}", found, owner),
                        }
                    }
                }
                let owners: BTreeSet<_> = owner.iter().flatten().collect();
                prop_assert_eq!(table.len(), owners.len());
                let all: Vec<_> = table.iter().map(|(at, _)| at).collect();
                prop_assert!(all.windows(2).all(|pair| pair[0].end() <= pair[1].start()));
            }
        }
    }
}
