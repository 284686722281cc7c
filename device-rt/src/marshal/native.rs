//! Copies argument data that the host cannot reach, for requests on `native`.
//!
//! The host copies to and from device memory through a queue, but it reaches neither a thread's
//! stack nor a team's shared memory. Ranges there are copied with the request: into its slot, or
//! into a bounce extent if they do not fit. Small ranges in device memory also go into the slot if
//! there is room, which saves two trips through a queue.

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::native::{
    MAX_MARSHALLED, MapEntry, PAYLOAD, PLACE_BOUNCE, PLACE_DEVICE, PLACE_SLOT, entry_bytes_in_slot,
};

use crate::arch::{Space, Spaces};

/// The largest range in device memory that is marshalled although the host could copy it. For
/// larger ones the stores cost more than the copies.
const SMALL: u64 = 128;

/// Bytes of the longest extent.
const MAX_EXTENT_BYTES: u64 = MAX_EXTENT as u64 * BLOCK as u64;

/// The layout of a request on `native`: entry by entry, whether it is marshalled and where.
///
/// It depends on the arguments alone, so it is computed again when it is needed, and never
/// stored.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    spaces: Spaces,
    slot_used: u32,
    bounce_used: u32,
    marshalled: u32,
}

/// An argument cannot be marshalled: [`MAX_MARSHALLED`] are already, or its range is longer than an
/// extent or runs past the end of the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// The index of a marshalled entry: its bit in
/// [`ReplyHeader::copied`](shared_abi::wire::native::ReplyHeader::copied).
pub type MarshalledIndex = u32;

impl Layout {
    /// The layout of a request with `count` entries, before its first.
    #[must_use]
    pub fn new(count: u32, spaces: Spaces) -> Self {
        let in_slot = entry_bytes_in_slot(u64::from(count)) as u32;
        // Saturated: no extent is that long.
        let bytes = count.saturating_mul(size_of::<MapEntry>() as u32);
        Self {
            spaces,
            slot_used: in_slot,
            bounce_used: bytes - in_slot,
            marshalled: 0,
        }
    }

    /// Bytes of the bounce extent so far.
    #[must_use]
    pub fn bounce_bytes(&self) -> u32 {
        self.bounce_used
    }

    /// Places the next entry.
    ///
    /// # Errors
    /// The host cannot reach the range, and it cannot be marshalled.
    pub fn next(
        &mut self,
        (addr, size, kind): (u64, u64, MapKind),
    ) -> Result<(MapEntry, Option<MarshalledIndex>), TooLarge> {
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
        if reachable && (size > SMALL || !fits_slot || self.marshalled == MAX_MARSHALLED) {
            return Ok((entry, None));
        }
        if self.marshalled == MAX_MARSHALLED
            || size > MAX_EXTENT_BYTES
            || addr.checked_add(size).is_none()
        {
            return Err(TooLarge);
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
            // A sum that no extent holds is rejected when the extent is claimed, before
            // anything is written at this offset.
            self.bounce_used = self.bounce_used.saturating_add(words);
        }
        self.marshalled += 1;
        Ok((entry, Some(self.marshalled - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, MAX_EXTENT_BYTES, TooLarge};
    use crate::arch::Spaces;
    use shared_abi::map_kind::MapKind;
    use shared_abi::wire::native::PLACE_BOUNCE;

    const STACK: u64 = 0x1000;

    fn layout() -> Layout {
        Layout::new(1, Spaces::with_stack(STACK, u64::MAX))
    }

    #[test]
    fn sums_past_the_address_space_are_refused() {
        for (addr, size) in [
            (STACK, u64::MAX),
            (STACK, u64::MAX - 7),
            (u64::MAX - 1, 2),
            (u64::MAX - 1, 1000),
        ] {
            let mut layout = layout();
            assert_eq!(
                layout.next((addr, size, MapKind::TO)),
                Err(TooLarge),
                "{addr:#x} {size:#x}"
            );
            assert_eq!(layout.bounce_bytes(), 0);
        }
    }

    #[test]
    fn what_no_extent_holds_is_refused() {
        let mut layout = layout();
        assert!(layout.next((STACK, MAX_EXTENT_BYTES, MapKind::TO)).is_ok());
        let longer = layout.next((STACK, MAX_EXTENT_BYTES + 1, MapKind::TO));
        assert_eq!(longer, Err(TooLarge));
        // Together they are too long: claiming the extent rejects them.
        assert!(layout.next((STACK, MAX_EXTENT_BYTES, MapKind::TO)).is_ok());
        assert_eq!(u64::from(layout.bounce_bytes()), 2 * MAX_EXTENT_BYTES);
        assert_eq!(
            Layout::new(u32::MAX, Spaces::with_stack(0, 0)).bounce_bytes(),
            u32::MAX
        );
    }

    #[test]
    fn what_does_not_fit_the_slot_goes_to_the_extent_in_words() {
        let mut layout = layout();
        let (entry, marshalled) = layout.next((STACK, 1001, MapKind::TO)).unwrap();
        assert_eq!((entry.place, entry.offset), (PLACE_BOUNCE, 0));
        assert_eq!(marshalled, Some(0));
        assert_eq!(layout.bounce_bytes(), 1008);
    }
}
