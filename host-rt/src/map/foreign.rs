//! Further checks of arguments that another runtime maps, which trusts a device.
//!
//! libgomp relies on the length of a structure, from its first to its last member, and has 8 bytes
//! for a pointer outside of all data. The positions of pointers in a descriptor do not matter if
//! the descriptor is present.

use shared_abi::map_kind::MapKind;

use super::plan::Plan;
use super::pointers::POINTER_SIZE;
use super::{Arg, MapError};

impl Plan<'_> {
    /// Whether another runtime maps the arguments, and may have mapped data in this range.
    pub(super) fn may_be_foreign(&self, addr: u64, size: u64) -> bool {
        self.foreign
            .is_some_and(|may_be_mapped| may_be_mapped(addr, size))
    }

    /// Checks the order of a structure's members.
    pub(super) fn foreign_members(&self, index: usize, members: &[Arg]) -> Result<(), MapError> {
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
                arg: self.info(index),
            });
        }
        Ok(())
    }

    /// Checks the location of a pointer outside of descriptors.
    pub(super) fn foreign_pointer(&self, index: usize) -> Result<(), MapError> {
        let arg = &self.args[index];
        let place = arg.addr.wrapping_add(arg.size);
        // Whether the bytes that libgomp allocates contain the other argument.
        let contains = |other: &Arg| {
            let kind = other.kind.plain();
            let has_bytes = kind.reads_device() || kind.writes_device();
            let is_alone = matches!(
                kind,
                MapKind::ALLOC | MapKind::FORCE_ALLOC | MapKind::FORCE_PRESENT
            );
            if kind == MapKind::FIRSTPRIVATE || !(has_bytes || is_alone) {
                return false;
            }
            place
                .checked_sub(other.addr)
                .and_then(|offset| offset.checked_add(POINTER_SIZE))
                .is_some_and(|end| end <= other.size)
        };
        let is_somewhere = self.args[..index].iter().any(contains);
        if arg.size > 0 && !is_somewhere && !self.may_be_foreign(place, POINTER_SIZE) {
            return Err(MapError::PointerOutside {
                arg: self.info(index),
            });
        }
        Ok(())
    }
}
