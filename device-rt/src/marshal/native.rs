//! Copies argument data that the host cannot reach, for requests on `native`.
//!
//! The host copies to and from device memory through a queue, but it reaches neither a thread's
//! stack nor a team's shared memory. Ranges there are copied with the request: into its slot, or
//! into a bounce extent if they do not fit. Small ranges in device memory also go into the slot if
//! there is room, which saves two trips through a queue.

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::native::{
    ENTRY_ROWS, HEADER_ROWS, MAX_MARSHALLED, MAX_ROWS, MAX_ROWS_TOGETHER, MapEntry, PLACE_BOUNCE,
    PLACE_DEVICE, PLACE_SLOT, ROW_DATA, is_list_in_slot, reply_payload_row,
};

use crate::arch::{Space, Spaces};

/// Whether the host can copy from and to an address while it serves a call.
pub trait Reach: Copy {
    /// Whether it can.
    fn is_reachable(self, addr: u64) -> bool;
}

impl Reach for Spaces {
    #[inline(always)]
    fn is_reachable(self, addr: u64) -> bool {
        self.of(addr) == Space::Global
    }
}

/// The host copies nothing, so all ranges are copied with the request: the caller may change and free
/// their memory while a call is in flight that it does not wait for.
#[derive(Clone, Copy, Debug)]
pub struct CopiesAll;

impl Reach for CopiesAll {
    #[inline(always)]
    fn is_reachable(self, _addr: u64) -> bool {
        false
    }
}

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
pub struct Layout<S> {
    spaces: S,
    request_rows: u32,
    reply_rows: u32,
    /// Their sum, with a row for an extent: the only one of the three that decides about later entries.
    used_rows: u32,
    bounce_used: u32,
    marshalled: u32,
    has_device_ranges: bool,
    is_too_large: bool,
}

/// The place of an entry's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// As in [`MapEntry`].
    pub place: u16,
    /// As in [`MapEntry`].
    pub offset: u32,
    /// The index of a marshalled entry: its bit in the set of written ranges.
    pub index: u32,
}

impl Placement {
    const DEVICE: Self = Self {
        place: PLACE_DEVICE,
        offset: 0,
        index: 0,
    };
}

impl<S: Reach> Layout<S> {
    /// The layout of a request with `count` entries, before its first.
    #[must_use]
    pub fn new(count: u32, spaces: S) -> Self {
        let (rows, list) = if is_list_in_slot(count) {
            (HEADER_ROWS + count * ENTRY_ROWS, 0)
        } else {
            // Saturated: no extent is that long.
            let list = count.saturating_mul(size_of::<MapEntry>() as u32);
            (HEADER_ROWS, list)
        };
        Self {
            spaces,
            request_rows: rows,
            reply_rows: reply_payload_row(count),
            used_rows: rows + reply_payload_row(count) + 1,
            bounce_used: list,
            marshalled: 0,
            has_device_ranges: false,
            is_too_large: false,
        }
    }

    /// Bytes of the bounce extent so far.
    #[must_use]
    pub fn bounce_bytes(&self) -> u32 {
        self.bounce_used
    }

    /// Rows of the request so far.
    #[must_use]
    pub fn request_rows(&self) -> u32 {
        self.request_rows + u32::from(self.bounce_used != 0)
    }

    /// Rows of the reply so far.
    #[must_use]
    pub fn reply_rows(&self) -> u32 {
        self.reply_rows
    }

    /// Whether the request and its reply so far leave room for those of other lanes.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.request_rows().max(self.reply_rows) <= MAX_ROWS_TOGETHER
    }

    /// Whether the request so far refers to memory outside the slot.
    #[must_use]
    pub fn has_outside_ranges(&self) -> bool {
        self.has_device_ranges || self.bounce_used != 0
    }

    /// Whether an argument cannot be marshalled: [`MAX_MARSHALLED`] are already, or its range is longer
    /// than an extent or runs past the end of the address space.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// Places the next entry. One that [is too large](Self::is_too_large) has any place.
    ///
    /// There is no `Result`: on a GPU, its two paths would keep the values of both in registers.
    #[inline(always)]
    pub fn next(&mut self, (addr, size, kind): (u64, u64, MapKind)) -> Placement {
        let directions = u32::from(kind.reads_device()) + u32::from(kind.writes_device());
        if directions == 0 || size == 0 || addr == 0 {
            return Placement::DEVICE;
        }
        // Saturated: no slot has room for so many rows.
        let rows = u32::try_from(size.div_ceil(ROW_DATA as u64)).unwrap_or(u32::MAX);
        let used_rows = self
            .used_rows
            .saturating_add(rows.saturating_mul(directions));
        let fits_slot = used_rows <= MAX_ROWS;
        let reachable = self.spaces.is_reachable(addr);
        if reachable && (size > SMALL || !fits_slot || self.marshalled == MAX_MARSHALLED) {
            self.has_device_ranges = true;
            return Placement::DEVICE;
        }
        self.is_too_large |= self.marshalled == MAX_MARSHALLED
            || size > MAX_EXTENT_BYTES
            || addr.checked_add(size).is_none();
        let index = self.marshalled;
        self.marshalled = (index + 1).min(MAX_MARSHALLED);
        if fits_slot {
            self.used_rows = used_rows;
            self.request_rows += if kind.reads_device() { rows } else { 0 };
            self.reply_rows += if kind.writes_device() { rows } else { 0 };
            return Placement {
                place: PLACE_SLOT,
                offset: 0,
                index,
            };
        }
        let offset = self.bounce_used;
        // A sum that no extent holds is rejected when the extent is claimed, before anything is written
        // at this offset.
        self.bounce_used = offset.saturating_add(rows.saturating_mul(ROW_DATA as u32));
        Placement {
            place: PLACE_BOUNCE,
            offset,
            index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, MAX_EXTENT_BYTES};
    use crate::arch::Spaces;
    use shared_abi::map_kind::MapKind;
    use shared_abi::wire::native::PLACE_BOUNCE;

    const STACK: u64 = 0x1000;

    fn layout() -> Layout<Spaces> {
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
            layout.next((addr, size, MapKind::TO));
            assert!(layout.is_too_large(), "{addr:#x} {size:#x}");
        }
    }

    #[test]
    fn what_no_extent_holds_is_refused() {
        let mut layout = layout();
        // Together they are too long: claiming the extent rejects them.
        for bytes in [MAX_EXTENT_BYTES, 2 * MAX_EXTENT_BYTES] {
            layout.next((STACK, MAX_EXTENT_BYTES, MapKind::TO));
            assert_eq!(u64::from(layout.bounce_bytes()), bytes);
            assert!(!layout.is_too_large());
        }
        layout.next((STACK, MAX_EXTENT_BYTES + 1, MapKind::TO));
        assert!(layout.is_too_large());
        assert_eq!(
            Layout::new(u32::MAX, Spaces::with_stack(0, 0)).bounce_bytes(),
            u32::MAX
        );
    }

    #[test]
    fn what_does_not_fit_the_slot_goes_to_the_extent_in_words() {
        let mut layout = layout();
        let placed = layout.next((STACK, 1001, MapKind::TO));
        assert_eq!(
            (placed.place, placed.offset, placed.index),
            (PLACE_BOUNCE, 0, 0)
        );
        assert_eq!(layout.bounce_bytes(), 1008);
        assert!(layout.has_outside_ranges());
    }
}
