//! Consumer of [`native`](shared_abi::wire::native). docs/native-wire.md specifies the protocol.

use core::mem::offset_of;
use std::ops::Range;

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::wire::native::{
    ENTRIES_IN_SLOT, MAX_MARSHALLED, MapEntry, PAYLOAD, PLACE_BOUNCE, PLACE_DEVICE, PLACE_SLOT,
    ReplyHeader, RequestHeader, Slot, entry_bytes_in_slot, pack_completion, ready_offset, size,
    slot_offset,
};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::arg::{Arg, ArgLocation, MarshalledBit};
use super::memory::{Wire, WireConfig};
use super::{ArgsError, Copier, DeviceAccess, Poll, PollWire, ProtocolError};
use crate::device::MappedMemory;

/// Slots in a group, which is scanned as a whole: a claim group.
const GROUP: u32 = claims::GROUP;

/// Scans without a request after which a group is cold.
const COLD: u8 = 64;

/// Consecutive requests taken from one slot before the others are scanned.
const MAX_STREAK: u32 = 16;

/// Polls of one slot alone after a request from it, before the others are scanned: a lone caller is
/// served without reading the cache lines of the ready hints.
const RECENT_POLLS: u32 = 8;

/// The words of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeRequest {
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u32,
    /// Key of the launch that made the request.
    pub launch: u32,
    /// The slot.
    pub slot: u32,
    /// The sequence number.
    pub seq: u32,
    /// First block of the bounce extent.
    pub bounce_first: u32,
    /// Number of blocks of the bounce extent.
    pub bounce_blocks: u32,
}

impl NativeRequest {
    /// The bounce extent, which is not yet checked.
    pub(super) fn bounce_blocks(&self) -> Range<u32> {
        let first = self.bounce_first;
        first..first.saturating_add(self.bounce_blocks)
    }
}

/// Finds published requests.
///
/// A caller that calls again uses the same slot, so the first `RECENT_POLLS` polls after a request
/// read only its slot. Later polls alternate between that slot and a scan of ready hints: those of
/// warm groups, which had requests lately, then those of one cold group. Every scan continues after
/// the last request found, so that busy slots do not starve others.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
    slots: u32,
    /// Sequence number of the last request taken from each slot.
    last_seq: Vec<u32>,
    recent: Recent,
    groups: Vec<Group>,
    /// The group where the next scan begins.
    begin: usize,
    /// The cold group to scan next.
    cold: usize,
    /// Requests taken since the last scan of a cold group.
    since_cold: u32,
}

/// The slot that was served last.
#[derive(Clone, Copy, Debug)]
struct Recent {
    slot: u32,
    /// Requests taken from it since the last scan of the others.
    streak: u32,
    /// Remaining polls of it alone.
    polls: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// Scans since the last request, up to [`COLD`].
    empty: u8,
    /// The slot in the group where the next scan begins.
    begin: u32,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire of `slots` slots in `system`. The last sequence number of each slot is
    /// `seq`.
    pub fn new(system: S, slots: u32, seq: u32) -> Self {
        Self {
            system,
            slots,
            last_seq: vec![seq; slots as usize],
            recent: Recent {
                slot: 0,
                streak: 0,
                polls: 1,
            },
            groups: vec![
                Group {
                    empty: COLD,
                    begin: 0
                };
                slots.div_ceil(GROUP) as usize
            ],
            begin: 0,
            cold: 0,
            since_cold: 0,
        }
    }

    /// Takes a request. It may miss one at first; one of the next polls finds it.
    pub fn poll(&mut self) -> Poll<NativeRequest> {
        let Recent {
            slot,
            streak,
            polls,
        } = self.recent;
        if streak < MAX_STREAK && polls > 0 {
            let found = self.take(slot);
            let taken = !found.is_empty();
            self.recent.polls = if taken { RECENT_POLLS } else { polls - 1 };
            self.recent.streak += u32::from(taken);
            return found;
        }
        self.recent = Recent {
            slot,
            streak: 0,
            polls: 1,
        };
        // Warm groups may have a request at every poll.
        if self.since_cold >= MAX_STREAK
            && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan_cold()
        {
            return found;
        }
        let count = self.groups.len();
        for i in 0..count {
            let group = (self.begin + i) % count;
            if self.groups[group].empty < COLD
                && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group)
            {
                self.begin = group + 1;
                self.since_cold += 1;
                return found;
            }
        }
        self.scan_cold()
    }

    fn scan_cold(&mut self) -> Poll<NativeRequest> {
        self.since_cold = 0;
        self.cold = (self.cold + 1) % self.groups.len();
        if self.groups[self.cold].empty < COLD {
            Poll::Empty
        } else {
            self.scan(self.cold)
        }
    }

    /// Like [`poll`](Self::poll), but reads the ready hint of every slot. After a fence, it finds
    /// every request whose publisher has passed its own fence, which follows the ready hint.
    pub fn poll_all(&mut self) -> Poll<NativeRequest> {
        for group in 0..self.groups.len() {
            if let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group) {
                return found;
            }
        }
        Poll::Empty
    }

    fn scan(&mut self, group: usize) -> Poll<NativeRequest> {
        let first = group as u32 * GROUP;
        let count = GROUP.min(self.slots - first);
        let begin = self.groups[group].begin;
        for i in (begin..count).chain(0..begin) {
            let slot = first + i;
            // Relaxed: advisory; `take` reads the sequence number in the slot. A later scan sees a
            // ready hint that arrives late.
            let ready = self.system.load32(ready_offset(slot), Load::Relaxed);
            if ready != self.last_seq[slot as usize]
                && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.take(slot)
            {
                self.groups[group] = Group {
                    empty: 0,
                    begin: (i + 1) % count,
                };
                self.recent = Recent {
                    slot,
                    streak: 0,
                    polls: 1,
                };
                return found;
            }
        }
        let empty = &mut self.groups[group].empty;
        *empty = (*empty + 1).min(COLD);
        Poll::Empty
    }

    /// Takes a new request from `slot`.
    fn take(&mut self, slot: u32) -> Poll<NativeRequest> {
        let at = slot_offset(self.slots, slot) + offset_of!(Slot, request);
        // Edge `N1`, consuming end: the header and the payload precede the sequence number.
        let seq = self
            .system
            .load32(at + offset_of!(RequestHeader, seq), Load::Acquire);
        let last = &mut self.last_seq[slot as usize];
        if seq == *last {
            return Poll::Empty;
        }
        let expected = last.wrapping_add(1);
        *last = seq;
        if seq != expected {
            // The publisher waits for a reply.
            complete(
                &self.system,
                self.slots,
                slot,
                seq,
                Status::REFUSED_MAPPING,
                0,
            );
            return Poll::ProtocolError(ProtocolError::Sequence {
                slot,
                found: seq,
                expected,
            });
        }
        // Relaxed: N1 orders these.
        let word32 = |field| self.system.load32(at + field, Load::Relaxed);
        Poll::Request(NativeRequest {
            func: self
                .system
                .load64(at + offset_of!(RequestHeader, func), Load::Relaxed),
            mapnum: word32(offset_of!(RequestHeader, mapnum)),
            launch: word32(offset_of!(RequestHeader, launch)),
            slot,
            seq,
            bounce_first: word32(offset_of!(RequestHeader, bounce_first)),
            bounce_blocks: word32(offset_of!(RequestHeader, bounce_blocks)),
        })
    }
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = NativeRequest;

    fn poll(&mut self) -> Poll<NativeRequest> {
        Poller::poll(self)
    }

    fn poll_all(&mut self) -> Poll<NativeRequest> {
        Poller::poll_all(self)
    }
}

/// Completes the request with sequence number `seq` in `slot`, after its reply payload was written.
/// Bit `i` of `copied`: marshalled argument `i` was written.
pub fn complete(
    system: &impl SystemWords,
    slots: u32,
    slot: u32,
    seq: u32,
    status: Status,
    copied: u64,
) {
    let at = slot_offset(slots, slot) + offset_of!(Slot, reply);
    // Relaxed: N2 orders it.
    system.store64(at + offset_of!(ReplyHeader, copied), copied, Store::Relaxed);
    // Edge `N2`, completing end: a reader of this sequence number sees the reply, its payload and
    // the results in device memory. From here on the device owns the slot.
    system.store64(
        at + offset_of!(ReplyHeader, seq),
        pack_completion(seq, status.0),
        Store::Release,
    );
}

/// Size of the wire in mapped memory, in bytes.
pub(super) fn bytes(config: &WireConfig) -> usize {
    size(config.slots)
}

/// Creates a wire in `memory`, which is zeroed and has [`bytes`], and its poller.
///
/// # Safety
/// The wire lives as long as the poller, which uses its memory.
pub(super) unsafe fn attach(
    memory: MappedMemory,
    config: &WireConfig,
    access: &DeviceAccess,
) -> (Wire, Poller<Coherent>) {
    let (slots, seq) = (config.slots, config.initial_seq);
    let wire = Wire {
        kind: WireKind::NATIVE,
        name: "native",
        slots,
        keeps_slots: true,
        memory,
        access: access.clone(),
    };
    // SAFETY: the caller keeps the wire while it uses the poller.
    let words = unsafe { wire.detached_words() };
    for slot in 0..slots {
        let at = slot_offset(slots, slot);
        let request = at + offset_of!(Slot, request) + offset_of!(RequestHeader, seq);
        let reply = at + offset_of!(Slot, reply) + offset_of!(ReplyHeader, seq);
        // Relaxed: no kernel runs yet, and a launch orders it.
        for place in [ready_offset(slot), request] {
            words.store32(place, seq, Store::Relaxed);
        }
        words.store64(reply, pack_completion(seq, Status::NONE.0), Store::Relaxed);
    }
    (wire, Poller::new(words, slots, seq))
}

/// The initial claims on the slots of the wire and on `bounce_blocks`, as bytes for device memory.
pub(crate) fn claims(config: &WireConfig, bounce_blocks: u32) -> Vec<u8> {
    let slots = config.slots;
    let mut bytes = vec![0; claims::size(slots, bounce_blocks)];
    let mut put = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    for group in 0..claims::groups(slots) {
        let at = claims::group_offset(group);
        let present = (slots - group * GROUP).min(GROUP);
        // Bits without a slot stay taken.
        let taken = (u64::from(u32::MAX) << present) as u32;
        put(at + offset_of!(ClaimGroup, taken), taken);
        for i in 0..GROUP as usize {
            put(
                at + offset_of!(ClaimGroup, seqs) + i * 4,
                config.initial_seq,
            );
        }
    }
    bytes
}

/// Reads the entries of `request.mapnum` arguments.
#[inline]
pub(super) fn read_args(
    wire: &Wire,
    request: &NativeRequest,
    copier: &Copier,
    args: &mut Vec<Arg>,
) -> Result<(), ArgsError> {
    let (first, blocks) = (request.bounce_first, request.bounce_blocks);
    let extent = first as usize * BLOCK;
    let extent_len = blocks as usize * BLOCK;
    let extent_end = extent.checked_add(extent_len);
    if blocks > MAX_EXTENT || extent_end.is_none_or(|end| end > copier.bounce_bytes()) {
        return Err(ArgsError::NoSuchExtent { first, blocks });
    }
    let bounce = copier.bounce();
    // SAFETY: `wire` outlives this function.
    let words = unsafe { wire.detached_words() };
    let count = request.mapnum as usize;
    let list = count * size_of::<MapEntry>();
    let (source, base): (&Coherent, usize) = if count <= ENTRIES_IN_SLOT as usize {
        let slot = slot_offset(wire.slots, request.slot);
        (&words, slot + offset_of!(Slot, request_payload))
    } else if list <= extent_len {
        (&bounce, extent)
    } else {
        return Err(ArgsError::ListTooLong { count, blocks });
    };
    let mut marshalled = 0;
    for index in 0..count {
        let at = base + index * size_of::<MapEntry>();
        // Relaxed: N1 orders these.
        let addr = source.load64(at + offset_of!(MapEntry, addr), Load::Relaxed);
        let size = source.load64(at + offset_of!(MapEntry, size), Load::Relaxed);
        let tail = source.load64(at + offset_of!(MapEntry, kind), Load::Relaxed);
        let (kind, place, offset) = (tail as u16, (tail >> 16) as u16, (tail >> 32) as usize);
        let fits = |start: usize, room: usize| {
            offset.is_multiple_of(8)
                && offset >= start
                && usize::try_from(size)
                    .ok()
                    .and_then(|size| offset.checked_add(size))
                    .is_some_and(|end| end <= room)
        };
        let bit = MarshalledBit(marshalled);
        let location = match place {
            PLACE_DEVICE => ArgLocation::Device,
            _ if marshalled == MAX_MARSHALLED => return Err(ArgsError::TooManyMarshalled),
            PLACE_SLOT if fits(entry_bytes_in_slot(request.mapnum.into()), PAYLOAD) => {
                ArgLocation::Slot(offset, bit)
            }
            PLACE_BOUNCE if fits(0, extent_len) => ArgLocation::Bounce(extent + offset, bit),
            _ => {
                return Err(ArgsError::NotMarshalled {
                    index,
                    place,
                    offset,
                    size,
                });
            }
        };
        marshalled += u32::from(location != ArgLocation::Device);
        args.push(Arg {
            addr,
            size,
            kind: MapKind(kind),
            location,
        });
    }
    Ok(())
}

/// Copies `len` bytes at `offset` of the request's payload to `to`. Panics if the range is not in
/// the payload.
///
/// # Safety
/// `to` is writable for `len` bytes.
#[inline]
pub(super) unsafe fn read_payload(
    wire: &Wire,
    request: &NativeRequest,
    offset: usize,
    to: *mut u8,
    len: usize,
) {
    assert!(is_in_payload(offset, len));
    let at = slot_offset(wire.slots, request.slot) + offset_of!(Slot, request_payload) + offset;
    // SAFETY: the caller ensures that `to` is writable; the range is in the payload.
    unsafe { wire.words().read_bytes(at, to, len) };
}

/// Copies `len` bytes to the place in the reply's payload of the range at `offset` of the request's
/// payload. Panics if the range is not in the payload.
///
/// # Safety
/// `from` is readable for `len` bytes.
#[inline]
pub(super) unsafe fn write_payload(
    wire: &Wire,
    request: &NativeRequest,
    offset: usize,
    from: *const u8,
    len: usize,
) {
    // The reply's payload lacks the entries at the start of the request's.
    let entries = entry_bytes_in_slot(request.mapnum.into());
    assert!(is_in_payload(offset, len) && offset >= entries);
    let at = slot_offset(wire.slots, request.slot) + offset_of!(Slot, reply_payload);
    // SAFETY: the caller ensures that `from` is readable; the range is in the payload.
    unsafe {
        wire.words().write_bytes(at + offset - entries, from, len);
    }
}

fn is_in_payload(offset: usize, len: usize) -> bool {
    offset.checked_add(len).is_some_and(|end| end <= PAYLOAD)
}
