//! Further checks of arguments that another runtime maps, which trusts a device.
//!
//! libgomp relies on the length of a structure, from its first to its last member, and has 8 bytes
//! for a pointer outside of all data. The positions of pointers in a descriptor do not matter if
//! the descriptor is present.

use std::collections::BTreeMap;

use shared_abi::map_kind::MapKind;

use super::pointers::POINTER_SIZE;
use super::{Arg, ArgInfo, MapError};

/// The checks of one request.
pub(super) struct Foreign<'a> {
    /// Whether the other runtime may have mapped data in a range.
    may_be_mapped: &'a dyn Fn(u64, u64) -> bool,
    /// The ranges in which pointers may lie.
    backing: Backing,
}

impl<'a> Foreign<'a> {
    pub(super) fn new(may_be_mapped: &'a dyn Fn(u64, u64) -> bool) -> Self {
        Self {
            may_be_mapped,
            backing: Backing::default(),
        }
    }

    /// Whether the other runtime may have mapped data in this range.
    pub(super) fn may_have_mapped(&self, addr: u64, size: u64) -> bool {
        (self.may_be_mapped)(addr, size)
    }

    /// Checks the order of the members of the structure with number `index`.
    pub(super) fn check_members(
        &self,
        index: usize,
        header: &Arg,
        members: &[Arg],
    ) -> Result<(), MapError> {
        let (Some(first), Some(last)) = (members.first(), members.last()) else {
            return Ok(());
        };
        // The range that libgomp allocates for them and copies to.
        let (start, end) = (first.addr, last.addr.saturating_add(last.size));
        let is_in = |member: &Arg| {
            let ends = member.addr.checked_add(member.size);
            start <= member.addr && ends.is_some_and(|ends| ends <= end)
        };
        if start == 0 || last.addr == 0 || !members.iter().all(is_in) {
            return Err(MapError::MemberOrder {
                arg: ArgInfo::new(index, header),
            });
        }
        Ok(())
    }

    /// Checks the location of a pointer outside of descriptors, argument `index` of `args`.
    pub(super) fn check_pointer(&mut self, args: &[Arg], index: usize) -> Result<(), MapError> {
        self.backing.extend_to(&args[..index]);
        let arg = &args[index];
        let location = arg.addr.wrapping_add(arg.size);
        let is_backed =
            self.backing.contains(location) || self.may_have_mapped(location, POINTER_SIZE);
        if arg.size > 0 && !is_backed {
            return Err(MapError::PointerOutside {
                arg: ArgInfo::new(index, arg),
            });
        }
        Ok(())
    }
}

/// The ranges that libgomp allocates for the first arguments of a request.
#[derive(Default)]
struct Backing {
    /// The number of these arguments.
    args: usize,
    /// End by start. Ranges inside another one are left out, so that ends rise with starts, and
    /// one look-up decides.
    ends: BTreeMap<u64, u64>,
}

impl Backing {
    /// Adds the arguments of `args`, the first ones of the request, that are not in it yet.
    fn extend_to(&mut self, args: &[Arg]) {
        for arg in args.iter().skip(self.args) {
            let kind = arg.kind.plain();
            let has_bytes = kind.reads_device() || kind.writes_device();
            let is_alone = matches!(
                kind,
                MapKind::ALLOC | MapKind::FORCE_ALLOC | MapKind::FORCE_PRESENT
            );
            if kind != MapKind::FIRSTPRIVATE && (has_bytes || is_alone) {
                self.insert(arg.addr, arg.addr.saturating_add(arg.size));
            }
        }
        self.args = self.args.max(args.len());
    }

    fn insert(&mut self, start: u64, end: u64) {
        let last_before = self.ends.range(..=start).next_back();
        if last_before.is_some_and(|(_, &other)| other >= end) {
            return;
        }
        while let Some((&inside, _)) = self.ends.range(start..).next().filter(|(_, o)| **o <= end) {
            self.ends.remove(&inside);
        }
        self.ends.insert(start, end);
    }

    /// Whether one range contains a pointer at `location`.
    fn contains(&self, location: u64) -> bool {
        let end = location.checked_add(POINTER_SIZE);
        let last_before = self.ends.range(..=location).next_back();
        last_before.is_some_and(|(_, &other)| end.is_some_and(|end| end <= other))
    }
}

#[cfg(test)]
mod tests {
    use super::Backing;

    #[test]
    fn a_pointer_lies_in_one_range() {
        let mut backing = Backing::default();
        for (start, end) in [
            (8, 24),
            (0, 16),
            (10, 20),
            (4, 16),
            (40, 44),
            (44, 60),
            (8, 32),
        ] {
            backing.insert(start, end);
        }
        let starts: Vec<_> = backing.ends.into_iter().collect();
        assert_eq!(starts, [(0, 16), (8, 32), (40, 44), (44, 60)]);
        let backing = Backing {
            args: 0,
            ends: starts.into_iter().collect(),
        };
        let inside: Vec<u64> = (0..64).filter(|&at| backing.contains(at)).collect();
        let expected: Vec<u64> = (0..=24).chain(44..=52).collect();
        assert_eq!(inside, expected);
        assert!(!backing.contains(u64::MAX - 3));
    }
}
