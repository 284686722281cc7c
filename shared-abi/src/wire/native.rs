//! `native`: the wire of `device-rt`, made for a bus.
//!
//! Independent slots, each for one *warp*: up to 64 device threads that call together, its *lanes*.
//! One lane *claims* a free slot with device-scope atomics in device memory ([`claims`]) and
//! advances the slot's sequence number. Each lane writes its request into the slot, in *cells* that
//! carry the sequence number themselves: no word publishes the others, so they need no order. The
//! host *consumes* the requests once every cell has arrived, and *completes* them by writing replies,
//! in cells too. On mapped memory there are only naturally aligned loads and stores of at most 16
//! bytes, of which each half is atomic; each word is written by one side alone, except that the host
//! clears slots at the wrap of their sequence numbers.
//!
//! # Cells and rows
//! A [`cell`] is a word of 8 bytes: 4 bytes of data, and the sequence number. A *row* is two cells,
//! which a lane stores or loads at once. The data of a lane's rows, [`ROW_DATA`] bytes each, is its
//! *stream*. The rows of a slot's lanes are interleaved, so that a warp's store of one row a lane is one
//! contiguous burst: see [`row_offset`]. `rank` numbers the lanes that call together, from 0 on.
//!
//! The wire, from [`DeviceConfig::wire`](crate::image::DeviceConfig::wire), is an array of slots of
//! [`slot_bytes`], each with an area of [`area_bytes`] for requests, and one for replies.
//!
//! # Request
//! The stream of each lane's request is little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | [`RequestMeta`] |
//! | 4 | key of the calling launch, given by the host; 0 if the device does not know it |
//! | 8 | function word |
//! | 8 | with a bounce extent: its first block, and its number of blocks |
//! | | for each argument: its [`MapEntry`] if there are at most [`ENTRIES_IN_SLOT`]; then its bytes, if they are in the slot and its kind reads |
//!
//! An argument's bytes fill whole rows.
//!
//! The number of lanes in rank 0's [`RequestMeta`] applies to all.
//!
//! # Reply
//! The data of row 0 is a lane's completion: its [`Status`], and the set of marshalled ranges that the
//! host has written: bit `c` for the `c`-th, whose bytes the caller copies to its address. If there
//! are more than [`WRITTEN_BITS`] arguments, the rest of the set is in row 1. The bytes follow, for each
//! argument that is marshalled in the slot and whose kind writes, in whole rows: see
//! [`reply_payload_row`].
//!
//! A lane that calls alone polls row 0, which the host writes last. Lanes that call together poll the
//! slot's [`progress_offset`] row, which the host updates after each lane's reply. It is the set of
//! completed lanes, by rank; if there are at most 32, the second cell is a [`Summary`] instead, so
//! that lanes with the same completion need not read it.
//!
//! # Sequence numbers
//! They are compared for equality only, and skip 0, the content of new memory: see [`next_seq`]. The
//! host clears a slot between the last number before the wrap and the first after it, so that no cell of
//! an earlier cycle looks like one of the next.
//!
//! # Order
//! Edges `N1` (request) and `N2` (reply) order memory outside the cells, such as bounce extents: see
//! `docs/memory-model.md`. Requests without such memory need neither, except [at the wrap](is_at_wrap).

use super::claims;
use crate::status::Status;

/// Bytes of a row in a slot: two cells.
pub const ROW: usize = 16;

/// Bytes of a row in a stream: the data of two cells.
pub const ROW_DATA: usize = 8;

/// Maximum rows of a request by a lane that calls alone.
pub const MAX_ROWS: u32 = 64;

/// Maximum rows of a request by a lane that calls with others.
pub const MAX_ROWS_TOGETHER: u32 = 32;

/// Maximum lanes of a slot.
pub const MAX_LANES: u32 = 64;

/// Bytes of a slot after its areas, of which the first are the progress row.
pub const PROGRESS_BYTES: usize = 128;

/// Maximum ranges that one request marshals, in the slot and in a bounce extent together: each has a
/// bit in the reply.
pub const MAX_MARSHALLED: u32 = 64;

/// Bits of the set of written ranges in row 0 of a reply; the others are in row 1.
pub const WRITTEN_BITS: u32 = 32;

/// Maximum arguments of a request.
pub const MAX_ARGS: u32 = (1 << 19) - 1;

/// Maximum entries in the slot. Longer lists start at the beginning of the request's bounce extent.
pub const ENTRIES_IN_SLOT: u32 = 16;

/// Rows of a request before the extent and the entries.
pub const HEADER_ROWS: u32 = 2;

/// Rows of an entry.
pub const ENTRY_ROWS: u32 = (size_of::<MapEntry>() / ROW_DATA) as u32;

/// A cell: 4 bytes of data, and the sequence number that they belong to.
#[must_use]
pub const fn cell(data: u32, seq: u32) -> u64 {
    data as u64 | (seq as u64) << 32
}

/// The data of a cell with sequence number `seq`; `None` if the cell has another one.
#[must_use]
pub const fn cell_data(cell: u64, seq: u32) -> Option<u32> {
    if (cell >> 32) as u32 == seq {
        Some(cell as u32)
    } else {
        None
    }
}

/// The sequence number after `seq`.
#[must_use]
pub const fn next_seq(seq: u32) -> u32 {
    match seq.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

/// Whether `seq` is the last sequence number before the wrap, or the first after it. The host clears
/// the slot between their requests, which therefore always have the edges `N1` and `N2`.
#[must_use]
pub const fn is_at_wrap(seq: u32) -> bool {
    seq.wrapping_add(1) <= 2
}

/// Lowest bit of the number of rows, less one, in a [`RequestMeta`].
pub const META_ROWS: u32 = 6;
/// Bit in a [`RequestMeta`] of a request with a bounce extent.
pub const META_EXTENT: u32 = 1 << 12;
/// Lowest bit of the number of arguments in a [`RequestMeta`].
pub const META_MAPNUM: u32 = 13;

/// The shape of a lane's request, written by the device.
///
/// Bits 0 to 5 are the number of lanes that call together, less one. The six bits from
/// [`META_ROWS`] on are the number of rows of this lane's request, less one. [`META_EXTENT`] and the number of
/// arguments, from [`META_MAPNUM`] on, follow. Every value has a meaning.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestMeta(
    /// The value on the wire.
    pub u32,
);

impl RequestMeta {
    /// The shape of a request with 1 to [`MAX_LANES`] lanes, 1 to [`MAX_ROWS`] rows, and at most
    /// [`MAX_ARGS`] arguments.
    #[must_use]
    pub const fn new(lanes: u32, rows: u32, has_extent: bool, mapnum: u32) -> Self {
        let extent = if has_extent { META_EXTENT } else { 0 };
        Self((lanes - 1) | (rows - 1) << META_ROWS | extent | mapnum << META_MAPNUM)
    }

    /// The number of lanes that call together.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        (self.0 & (MAX_LANES - 1)) + 1
    }

    /// The number of rows of this lane's request.
    #[must_use]
    pub const fn rows(self) -> u32 {
        (self.0 >> META_ROWS & (MAX_ROWS - 1)) + 1
    }

    /// Whether the request has a bounce extent.
    #[must_use]
    pub const fn has_extent(self) -> bool {
        self.0 & META_EXTENT != 0
    }

    /// The number of arguments.
    #[must_use]
    pub const fn mapnum(self) -> u32 {
        self.0 >> META_MAPNUM
    }
}

/// Whether the list of `mapnum` entries is in the slot.
#[must_use]
pub const fn is_list_in_slot(mapnum: u32) -> bool {
    mapnum <= ENTRIES_IN_SLOT
}

/// Row of the first marshalled bytes of a reply to a request with `mapnum` arguments.
#[must_use]
pub const fn reply_payload_row(mapnum: u32) -> u32 {
    if mapnum <= WRITTEN_BITS { 1 } else { 2 }
}

/// Lanes for which there is a [`Summary`]: with more of them, the progress row has no room for it.
pub const MAX_LANES_WITH_SUMMARY: u32 = 32;

/// Lowest bit of the status in a [`Summary`].
pub const SUMMARY_STATUS: u32 = 8;
/// Lowest bit of the set of written ranges in a [`Summary`].
pub const SUMMARY_WRITTEN: u32 = 16;

/// The completion that all completed lanes share, written by the host.
///
/// Bits 0 to 7 are the number of these lanes, or 0 if they differ; the eight bits from
/// [`SUMMARY_STATUS`] on are the status; the set of written ranges begins at bit [`SUMMARY_WRITTEN`]. It is
/// valid if the number is that of the lanes in the set of completed ones: the two cells of a row may
/// arrive at different times.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary(
    /// The value on the wire.
    pub u32,
);

impl Summary {
    /// The completed lanes differ.
    pub const NONE: Summary = Summary(0);

    /// The summary of `count` lanes with that status and set of written ranges;
    /// [`NONE`](Self::NONE) if they do not fit.
    #[must_use]
    pub const fn new(count: u32, status: Status, written: u32) -> Self {
        if status.0 >> 8 != 0 || written >> 16 != 0 {
            return Self::NONE;
        }
        Self(count | status.0 << SUMMARY_STATUS | written << SUMMARY_WRITTEN)
    }

    /// Whether it applies to `count` completed lanes, at least one.
    #[must_use]
    pub const fn applies_to(self, count: u32) -> bool {
        self.0 & 0xff == count
    }

    /// The status.
    #[must_use]
    pub const fn status(self) -> Status {
        Status(self.0 >> SUMMARY_STATUS & 0xff)
    }

    /// The set of written ranges.
    #[must_use]
    pub const fn written(self) -> u32 {
        self.0 >> SUMMARY_WRITTEN
    }
}

/// One argument of a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// `hostaddrs[i]`: a device address, or a value for `FIRSTPRIVATE_INT`. It
    /// identifies the range even where the bytes are marshalled.
    pub addr: u64,
    /// `sizes[i]`.
    pub size: u64,
    /// `kinds[i]`, a [`MapKind`](crate::map_kind::MapKind).
    pub kind: u16,
    /// The location of the bytes, a `PLACE_*`. An entry is *marshalled* if it is not
    /// [`PLACE_DEVICE`].
    pub place: u16,
    /// Byte offset of the bytes in the bounce extent, a multiple of 8; elsewhere 0.
    pub offset: u32,
}

/// At [`MapEntry::addr`]; the host copies through a device queue.
pub const PLACE_DEVICE: u16 = 0;
/// In the slot, in rows of the request and of the reply.
pub const PLACE_SLOT: u16 = 1;
/// In the request's bounce extent.
pub const PLACE_BOUNCE: u16 = 2;

/// Size in bytes of a slot's area for requests, and of the one for replies, of slots for up to
/// `lanes` lanes.
#[must_use]
pub const fn area_bytes(lanes: u32) -> usize {
    let together = lanes * MAX_ROWS_TOGETHER;
    let rows = if together > MAX_ROWS {
        together
    } else {
        MAX_ROWS
    };
    rows as usize * ROW
}

/// Size in bytes of a slot for up to `lanes` lanes: two areas, and [`PROGRESS_BYTES`]. The
/// beginnings of slots, which the host polls, thus fall into different sets of a processor's caches.
#[must_use]
pub const fn slot_bytes(lanes: u32) -> usize {
    progress_offset(lanes) + PROGRESS_BYTES
}

/// Byte offset of slot `slot`, which is that of its requests.
#[must_use]
pub const fn slot_offset(lanes: u32, slot: u32) -> usize {
    slot as usize * slot_bytes(lanes)
}

/// Byte offset of the replies in a slot.
#[must_use]
pub const fn replies_offset(lanes: u32) -> usize {
    area_bytes(lanes)
}

/// Byte offset of the progress row in a slot.
#[must_use]
pub const fn progress_offset(lanes: u32) -> usize {
    2 * area_bytes(lanes)
}

/// Byte offset in an area of row `row` of the lane of rank `rank`, of `count` lanes that call
/// together.
#[must_use]
pub const fn row_offset(row: u32, rank: u32, count: u32) -> usize {
    (row * count + rank) as usize * ROW
}

/// Rows of a lane in an area of slots for up to `lanes` lanes, if `count` of them call together.
#[must_use]
pub const fn lane_rows(lanes: u32, count: u32) -> u32 {
    (area_bytes(lanes) / ROW) as u32 / count
}

/// Size in bytes of a wire with `slots` slots for up to `lanes` lanes.
#[must_use]
pub const fn size(slots: u32, lanes: u32) -> usize {
    slot_offset(lanes, slots)
}

/// Claim group of slot `slot`, and the slot's bit in it.
#[must_use]
pub const fn claim_of(slot: u32) -> (u32, u32) {
    (slot / claims::GROUP, slot % claims::GROUP)
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<RequestMeta>() == 4 && align_of::<RequestMeta>() == 4);
    assert!(size_of::<Summary>() == 4 && align_of::<Summary>() == 4);

    assert!(size_of::<MapEntry>() == 24 && align_of::<MapEntry>() == 8);
    assert!(offset_of!(MapEntry, addr) == 0);
    assert!(offset_of!(MapEntry, size) == 8);
    assert!(offset_of!(MapEntry, kind) == 16);
    assert!(offset_of!(MapEntry, place) == 18);
    assert!(offset_of!(MapEntry, offset) == 20);

    // The longest list in the slot leaves rows for bytes.
    assert!(HEADER_ROWS + 1 + ENTRIES_IN_SLOT * ENTRY_ROWS < MAX_ROWS);
    assert!(HEADER_ROWS as usize * ROW_DATA == 16 && ENTRY_ROWS as usize * ROW_DATA == 24);
    // Lanes that call together fill an area at most.
    assert!(row_offset(MAX_ROWS_TOGETHER, 0, MAX_LANES) == area_bytes(MAX_LANES));
    let mut lanes = 1;
    while lanes <= MAX_LANES {
        assert!(slot_bytes(lanes).is_multiple_of(128));
        lanes += 1;
    }
};
