//! `native`: the wire of `device-rt`.
//!
//! Independent slots. A device thread *claims* a free slot with device-scope
//! atomics in device memory ([`claims`]), writes the request into
//! the slot, *publishes* it by storing the slot's next sequence number, and waits until
//! the reply carries that number. The host *consumes* a request when it sees the number
//! after the last one it served in that slot, and *completes* it by writing the
//! reply and then the same number. On mapped memory there are only naturally
//! aligned loads and stores of at most 8 bytes, each word written by one side
//! alone.
//!
//! Layout, from [`DeviceConfig::wire`](crate::image::DeviceConfig::wire): `slots` ready hints
//! (`u32` each, the whole padded to 128 bytes), then `slots` [`Slot`]s. A ready hint
//! repeats the sequence number of its slot so that the host can scan many at once; it is
//! advisory and unordered, and the number in the slot decides.
//!
//! Sequence numbers are compared for equality only and wrap; a slot starts at any number
//! that the host writes in all four places (ready hint, request, reply, claims).
//!
//! Sequence number and status of a reply are one word of 8 bytes to both sides, see
//! [`pack_completion`].
//!
//! A request is handed over by edge `N1`, its reply by edge `N2`; the table of edges
//! is in `docs/memory-model.md`.

use super::claims;

/// Bytes of payload in each direction of a slot.
pub const PAYLOAD: usize = 480;

/// Ranges that one request can marshal, in the slot and in a bounce extent together:
/// bits of [`ReplyHeader::copied`].
pub const MAX_MARSHALLED: u32 = 64;

/// Entries of a request that fit its slot's payload; longer lists stand at the
/// start of the request's bounce extent.
pub const ENTRIES_IN_SLOT: u32 = (PAYLOAD / size_of::<MapEntry>()) as u32;

/// The header of a request, written by the device. The payload follows: [`MapEntry`]s, then bytes
/// that the request marshals.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// This request's sequence number. Written last.
    pub seq: u32,
    /// Key of the calling launch, given by the host; 0 if the device does not know it.
    pub launch: u32,
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u32,
    /// Number of the calling device.
    pub dev_num: i32,
    /// First block of the request's bounce extent.
    pub bounce_first: u32,
    /// Blocks of the extent; 0 for none.
    pub bounce_blocks: u32,
}

/// The header of a reply, written by the host. The payload follows: the new bytes of ranges marshalled
/// in the slot. A range's distance from the payload's start is its distance from the end of the
/// entries in the request, so that short results share the header's line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// The sequence number of the answered request. Written last, together with the status.
    pub seq: u32,
    /// How it ended, a [`Status`](crate::status::Status).
    pub status: u32,
    /// Bit `c`: the caller must copy the bytes of the `c`-th marshalled range to its
    /// address.
    pub copied: u64,
    /// Not used; zero.
    pub reserved: [u64; 2],
}

/// The first 8 bytes of a reply, which are written and read as one word: over PCIe, a
/// second read would take as long as the first.
#[must_use]
pub const fn pack_completion(seq: u32, status: u32) -> u64 {
    seq as u64 | (status as u64) << 32
}

/// Sequence number and status of a word that [`pack_completion`] made.
#[must_use]
pub const fn unpack_completion(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// One slot.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Written by the device.
    pub request: RequestHeader,
    /// Written by the device.
    pub request_payload: [u64; PAYLOAD / 8],
    /// Written by the host.
    pub reply: ReplyHeader,
    /// Written by the host.
    pub reply_payload: [u64; PAYLOAD / 8],
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
    /// Byte offset of the bytes in the payload or in the bounce extent, a multiple
    /// of 8.
    pub offset: u32,
}

/// At [`MapEntry::addr`]; the host copies through a device queue.
pub const PLACE_DEVICE: u16 = 0;
/// In the slot's payload.
pub const PLACE_SLOT: u16 = 1;
/// In the request's bounce extent.
pub const PLACE_BOUNCE: u16 = 2;

/// Bytes that the entries of a request with `mapnum` arguments take in its slot's
/// payload.
#[must_use]
pub const fn entry_bytes_in_slot(mapnum: u64) -> usize {
    if mapnum <= ENTRIES_IN_SLOT as u64 {
        mapnum as usize * size_of::<MapEntry>()
    } else {
        0
    }
}

/// Byte offset of slot `slot`'s ready hint.
#[must_use]
pub const fn ready_offset(slot: u32) -> usize {
    slot as usize * 4
}

/// Byte offset of slot `slot` of `slots`.
#[must_use]
pub const fn slot_offset(slots: u32, slot: u32) -> usize {
    ready_offset(slots).next_multiple_of(128) + slot as usize * size_of::<Slot>()
}

/// Size in bytes of a wire with `slots` slots.
#[must_use]
pub const fn size(slots: u32) -> usize {
    slot_offset(slots, slots)
}

/// Claim group of slot `slot`, and the slot's bit in it.
#[must_use]
pub const fn claim_of(slot: u32) -> (u32, u32) {
    (slot / claims::GROUP, slot % claims::GROUP)
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<RequestHeader>() == 32 && align_of::<RequestHeader>() == 8);
    assert!(offset_of!(RequestHeader, seq) == 0);
    assert!(offset_of!(RequestHeader, launch) == 4);
    assert!(offset_of!(RequestHeader, func) == 8);
    assert!(offset_of!(RequestHeader, mapnum) == 16);
    assert!(offset_of!(RequestHeader, dev_num) == 20);
    assert!(offset_of!(RequestHeader, bounce_first) == 24);
    assert!(offset_of!(RequestHeader, bounce_blocks) == 28);

    assert!(size_of::<ReplyHeader>() == 32 && align_of::<ReplyHeader>() == 8);
    assert!(offset_of!(ReplyHeader, seq) == 0);
    assert!(offset_of!(ReplyHeader, status) == 4);
    assert!(offset_of!(ReplyHeader, copied) == 8);
    assert!(offset_of!(ReplyHeader, reserved) == 16);

    assert!(size_of::<Slot>() == 1024 && align_of::<Slot>() == 128);
    assert!(offset_of!(Slot, request) == 0);
    assert!(offset_of!(Slot, request_payload) == 32);
    assert!(offset_of!(Slot, reply) == 512);
    assert!(offset_of!(Slot, reply_payload) == 544);

    assert!(size_of::<MapEntry>() == 24 && align_of::<MapEntry>() == 8);
    assert!(offset_of!(MapEntry, addr) == 0);
    assert!(offset_of!(MapEntry, size) == 8);
    assert!(offset_of!(MapEntry, kind) == 16);
    assert!(offset_of!(MapEntry, place) == 18);
    assert!(offset_of!(MapEntry, offset) == 20);
    assert!(ENTRIES_IN_SLOT == 20);
};
