//! Further checks of arguments that another runtime maps, which trusts a device.
//!
//! libgomp relies on the length of a structure, from its first to its last member, and has 8 bytes
//! for a pointer outside of all data. The positions of pointers in a descriptor do not matter if
//! the descriptor is present.

use shared_abi::map_kind::MapKind;

use super::pointers::POINTER_SIZE;
use super::{Arg, ArgInfo, MapError};
use crate::base::outer_ranges::OuterRanges;

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
        let arg = &args[index];
        if arg.size == 0 {
            return Ok(());
        }
        self.backing.extend_to(&args[..index]);
        let location = arg.addr.wrapping_add(arg.size);
        let is_backed = self.backing.ranges.contains(location, POINTER_SIZE)
            || self.may_have_mapped(location, POINTER_SIZE);
        if !is_backed {
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
    ranges: OuterRanges,
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
                self.ranges.insert(arg.addr, arg.size);
            }
        }
        self.args = self.args.max(args.len());
    }
}
