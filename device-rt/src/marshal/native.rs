//! Which bytes a request on `native` carries itself.
//!
//! The host copies to and from device memory through a queue, but it reaches
//! neither a thread's stack nor a team's shared memory. Ranges there travel with
//! the request: in its slot, or in a bounce run when they do not fit. Small
//! ranges in device memory travel in the slot too where there is room, which
//! spares two trips through a queue.

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::{BLOCK, MAX_RUN};
use shared_abi::wire::native::{
    MAX_CARRIED, MapEntry, PAYLOAD, PLACE_BOUNCE, PLACE_DEVICE, PLACE_SLOT, entry_bytes_in_slot,
};

use crate::arch::{Space, Spaces};

/// Largest range in device memory that is carried although the host could copy
/// it: beyond, the stores cost more than the copies they spare.
const SMALL: u64 = 128;

/// Bytes of the longest run.
const LONGEST: u64 = MAX_RUN as u64 * BLOCK as u64;

/// Decides, entry by entry, what a request on `native` carries and where.
///
/// The same walk over the same arguments always decides the same, so the places
/// are computed again when they are needed and stored nowhere.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    spaces: Spaces,
    slot_used: u32,
    bounce_used: u32,
    carried: u32,
}

/// An argument cannot be carried: [`MAX_CARRIED`] are already, or its range is longer
/// than a run or does not fit the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotCarry;

/// What is carried of an entry: its bit in
/// [`ReplyHeader::copied`](shared_abi::wire::native::ReplyHeader::copied).
pub type CarriedIndex = u32;

impl Plan {
    /// The plan of a request with `count` entries, before the first.
    #[must_use]
    pub fn new(count: u32, spaces: Spaces) -> Self {
        let in_slot = entry_bytes_in_slot(u64::from(count)) as u32;
        // Saturated, no run is that long.
        let bytes = count.saturating_mul(size_of::<MapEntry>() as u32);
        Self {
            spaces,
            slot_used: in_slot,
            bounce_used: bytes - in_slot,
            carried: 0,
        }
    }

    /// Bytes of bounce run needed so far.
    #[must_use]
    pub fn bounce_bytes(&self) -> u32 {
        self.bounce_used
    }

    /// The next entry, placed.
    ///
    /// # Errors
    /// The host cannot reach the range and it cannot be carried either.
    pub fn next(
        &mut self,
        (addr, size, kind): (u64, u64, MapKind),
    ) -> Result<(MapEntry, Option<CarriedIndex>), CannotCarry> {
        let mut entry = MapEntry {
            addr,
            size,
            kind: kind.0,
            place: PLACE_DEVICE,
            offset: 0,
        };
        let has_bytes = kind.reads_device() || kind.writes_device();
        if !has_bytes || size == 0 || addr == 0 {
            return Ok((entry, None));
        }
        let room = PAYLOAD as u64 - u64::from(self.slot_used);
        let fits_slot = size <= room;
        let reachable = self.spaces.of(addr) == Space::Global;
        if reachable && (size > SMALL || !fits_slot || self.carried == MAX_CARRIED) {
            return Ok((entry, None));
        }
        if self.carried == MAX_CARRIED || size > LONGEST || addr.checked_add(size).is_none() {
            return Err(CannotCarry);
        }
        let words = (size as u32).next_multiple_of(8);
        if fits_slot {
            entry.place = PLACE_SLOT;
            entry.offset = self.slot_used;
            // At most PAYLOAD, which is a multiple of 8 itself.
            self.slot_used += words;
        } else {
            entry.place = PLACE_BOUNCE;
            entry.offset = self.bounce_used;
            // A sum that no run holds is refused when the run is claimed, before
            // anything is written at this offset.
            self.bounce_used = self.bounce_used.saturating_add(words);
        }
        self.carried += 1;
        Ok((entry, Some(self.carried - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::{CannotCarry, LONGEST, Plan};
    use crate::arch::Spaces;
    use shared_abi::map_kind::MapKind;
    use shared_abi::wire::native::PLACE_BOUNCE;

    const STACK: u64 = 0x1000;

    fn plan() -> Plan {
        Plan::new(1, Spaces::with_stack(STACK, u64::MAX))
    }

    #[test]
    fn sums_past_the_address_space_are_refused_and_leave_the_plan() {
        for (addr, size) in [
            (STACK, u64::MAX),
            (STACK, u64::MAX - 7),
            (u64::MAX - 1, 2),
            (u64::MAX - 1, 1000),
        ] {
            let mut plan = plan();
            assert_eq!(
                plan.next((addr, size, MapKind::TO)),
                Err(CannotCarry),
                "{addr:#x} {size:#x}"
            );
            assert_eq!(plan.bounce_bytes(), 0);
        }
    }

    #[test]
    fn what_no_run_holds_is_refused() {
        let mut plan = plan();
        assert!(plan.next((STACK, LONGEST, MapKind::TO)).is_ok());
        let longer = plan.next((STACK, LONGEST + 1, MapKind::TO));
        assert_eq!(longer, Err(CannotCarry));
        // Together they are too long, which the claim on the run sees.
        assert!(plan.next((STACK, LONGEST, MapKind::TO)).is_ok());
        assert_eq!(u64::from(plan.bounce_bytes()), 2 * LONGEST);
        assert_eq!(
            Plan::new(u32::MAX, Spaces::with_stack(0, 0)).bounce_bytes(),
            u32::MAX
        );
    }

    #[test]
    fn what_does_not_fit_the_slot_goes_to_the_run_in_words() {
        let mut plan = plan();
        let (entry, carried) = plan.next((STACK, 1001, MapKind::TO)).unwrap();
        assert_eq!((entry.place, entry.offset), (PLACE_BOUNCE, 0));
        assert_eq!(carried, Some(0));
        assert_eq!(plan.bounce_bytes(), 1008);
    }
}
