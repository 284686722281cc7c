//! Consumer of [`native`](shared_abi::wire::native).

use core::mem::offset_of;
use std::ops::Range;

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::wire::native::{
    ENTRIES_IN_SLOT, MAX_CARRIED, MapEntry, PAYLOAD, PLACE_BOUNCE, PLACE_DEVICE, PLACE_SLOT,
    ReplyHeader, RequestHeader, Slot, entry_bytes_in_slot, pack_completion, ready_offset, size,
    slot_offset,
};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::arg::{Arg, ArgLocation, CarriedBit};
use super::memory::{Wire, WireConfig};
use super::{ArgsError, Copier, DeviceAccess, Poll, PollWire};
use crate::device::MappedMemory;

/// Slots that are scanned together: those of one claim group.
const GROUP: u32 = claims::GROUP;

/// Scans of a group that find nothing before the group counts as cold.
const COLD: u8 = 64;

/// Requests taken from one slot in a row before the others are scanned.
const STREAK: u32 = 16;

/// Polls of that slot alone after a request was taken from it, before a scan of
/// the others: a lone caller is served without touching the lines of the ready hints.
const PATIENCE: u32 = 8;

/// The words of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestWords {
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u32,
    /// Key of the launch that asks.
    pub launch: u32,
    /// The slot.
    pub slot: u32,
    /// The request's sequence number.
    pub seq: u32,
    /// First block of its bounce extent.
    pub bounce_first: u32,
    /// Blocks of its bounce extent.
    pub bounce_blocks: u32,
}

impl RequestWords {
    /// Its bounce extent, which need not exist.
    pub(super) fn bounce_blocks(&self) -> Range<u32> {
        let first = self.bounce_first;
        first..first.saturating_add(self.bounce_blocks)
    }
}

/// Finds published requests.
///
/// A caller that calls again uses the same slot, so that slot is read
/// first. Then the ready hints of groups that have had requests lately, and those of
/// one other group. Every poll goes on where the last one found something, so
/// that no request waits for ever behind slots that are always busy.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
    slots: u32,
    /// Sequence number of the last request taken from each slot.
    last_seq: Vec<u32>,
    recent: Recent,
    groups: Vec<Group>,
    /// The group to begin with, so that none is always last.
    begin: usize,
    /// The cold group to scan next.
    cold: usize,
    /// Requests taken since a cold group was scanned.
    since_cold: u32,
}

/// The slot that was served last.
#[derive(Clone, Copy, Debug)]
struct Recent {
    slot: u32,
    /// Requests taken from it since the others were scanned.
    streak: u32,
    /// Polls of it alone before the others are scanned.
    polls: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// Scans since the last request, up to [`COLD`].
    empty: u8,
    /// The slot of the group to begin with.
    begin: u32,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire of `slots` slots in `system`, whose slots have had
    /// the sequence number `seq`.
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

    /// Looks for a request and takes it.
    pub fn poll(&mut self) -> Poll<RequestWords> {
        let Recent {
            slot,
            streak,
            polls,
        } = self.recent;
        if streak < STREAK && polls > 0 {
            let found = self.take(slot);
            let taken = !found.is_empty();
            self.recent.polls = if taken { PATIENCE } else { polls - 1 };
            self.recent.streak += u32::from(taken);
            return found;
        }
        self.recent = Recent {
            slot,
            streak: 0,
            polls: 1,
        };
        // Warm groups may always have something.
        if self.since_cold >= STREAK
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

    fn scan_cold(&mut self) -> Poll<RequestWords> {
        self.since_cold = 0;
        self.cold = (self.cold + 1) % self.groups.len();
        if self.groups[self.cold].empty < COLD {
            Poll::Empty
        } else {
            self.scan(self.cold)
        }
    }

    /// As [`poll`](Self::poll), but reads every slot. After a fence, it finds
    /// every request whose publisher has passed its own fence: the ready hint comes
    /// before that, too.
    pub fn poll_all(&mut self) -> Poll<RequestWords> {
        for group in 0..self.groups.len() {
            if let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group) {
                return found;
            }
        }
        Poll::Empty
    }

    fn scan(&mut self, group: usize) -> Poll<RequestWords> {
        let first = group as u32 * GROUP;
        let count = GROUP.min(self.slots - first);
        let begin = self.groups[group].begin;
        for i in (begin..count).chain(0..begin) {
            let slot = first + i;
            // Relaxed: advisory; `take` reads the sequence number in the slot. A ready hint that
            // lags behind is seen by a later scan.
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

    /// Takes the request in `slot`, if there is a new one.
    fn take(&mut self, slot: u32) -> Poll<RequestWords> {
        let at = slot_offset(self.slots, slot) + offset_of!(Slot, request);
        // Edge `N1`, consuming end: with the sequence number come the header and the payload.
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
            // Its publisher waits for an answer.
            complete(
                &self.system,
                self.slots,
                slot,
                seq,
                Status::REFUSED_MAPPING,
                0,
            );
            return Poll::ProtocolError(format!(
                "slot {slot} has sequence number {seq}, {expected} is next"
            ));
        }
        // Relaxed: N1 orders these.
        let word32 = |field| self.system.load32(at + field, Load::Relaxed);
        Poll::Request(RequestWords {
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
    type Request = RequestWords;

    fn poll(&mut self) -> Poll<RequestWords> {
        Poller::poll(self)
    }

    fn poll_all(&mut self) -> Poll<RequestWords> {
        Poller::poll_all(self)
    }
}

/// Answers the request of sequence number `seq` in `slot`; its reply payload is written.
pub fn complete(
    system: &impl SystemWords,
    slots: u32,
    slot: u32,
    seq: u32,
    status: Status,
    copied: u64,
) {
    let at = slot_offset(slots, slot) + offset_of!(Slot, reply);
    // Relaxed: N2 orders it for the device.
    system.store64(at + offset_of!(ReplyHeader, copied), copied, Store::Relaxed);
    // Edge `N2`, completing end: a reader of this sequence number sees the reply, its payload
    // and what was copied to device memory. The slot is the device's from here on.
    system.store64(
        at + offset_of!(ReplyHeader, seq),
        pack_completion(seq, status.0),
        Store::Release,
    );
}

/// Bytes of mapped memory that it needs.
pub(super) fn bytes(config: &WireConfig) -> usize {
    size(config.slots)
}

/// A wire in `memory`, which is zeroed and large enough, and its poller.
pub(super) fn attach(
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
    let words = wire.words();
    for slot in 0..slots {
        let at = slot_offset(slots, slot);
        let request = at + offset_of!(Slot, request) + offset_of!(RequestHeader, seq);
        let reply = at + offset_of!(Slot, reply) + offset_of!(ReplyHeader, seq);
        // Relaxed: no kernel runs yet; starting one orders it.
        for place in [ready_offset(slot), request] {
            words.store32(place, seq, Store::Relaxed);
        }
        words.store64(reply, pack_completion(seq, Status::NONE.0), Store::Relaxed);
    }
    (wire, Poller::new(words, slots, seq))
}

/// The claims on the slots of the wire and on `bounce_blocks`, as bytes for
/// device memory.
pub(crate) fn claims(config: &WireConfig, bounce_blocks: u32) -> Vec<u8> {
    let slots = config.slots;
    let mut bytes = vec![0; claims::size(slots, bounce_blocks)];
    let mut put = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    for group in 0..claims::groups(slots) {
        let at = claims::group_offset(group);
        let present = (slots - group * GROUP).min(GROUP);
        // What is no slot is taken for good.
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
    request: &RequestWords,
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
    let words = wire.words();
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
    let mut carried = 0;
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
        let bit = CarriedBit(carried);
        let location = match place {
            PLACE_DEVICE => ArgLocation::Device,
            _ if carried == MAX_CARRIED => return Err(ArgsError::TooManyCarried),
            PLACE_SLOT if fits(entry_bytes_in_slot(request.mapnum.into()), PAYLOAD) => {
                ArgLocation::Slot(offset, bit)
            }
            PLACE_BOUNCE if fits(0, extent_len) => ArgLocation::Bounce(extent + offset, bit),
            _ => {
                return Err(ArgsError::NotCarried {
                    index,
                    place,
                    offset,
                    size,
                });
            }
        };
        carried += u32::from(location != ArgLocation::Device);
        args.push(Arg {
            addr,
            size,
            kind: MapKind(kind),
            location,
        });
    }
    Ok(())
}

/// Copies `len` bytes that the request carries in its slot, at `offset` of the payload, to `to`.
///
/// # Safety
/// `to` is writable for `len` bytes.
#[inline]
pub(super) unsafe fn read_payload(
    wire: &Wire,
    request: &RequestWords,
    offset: usize,
    to: *mut u8,
    len: usize,
) {
    assert!(is_in_payload(offset, len));
    let at = slot_offset(wire.slots, request.slot) + offset_of!(Slot, request_payload) + offset;
    // SAFETY: the caller vouches for `to`; the range is in the payload.
    unsafe { wire.words().read_bytes(at, to, len) };
}

/// Copies `len` bytes to the reply's payload, where the range at `offset` of the request's goes.
///
/// # Safety
/// `from` is readable for `len` bytes.
#[inline]
pub(super) unsafe fn write_payload(
    wire: &Wire,
    request: &RequestWords,
    offset: usize,
    from: *const u8,
    len: usize,
) {
    // The reply has no entries.
    let entries = entry_bytes_in_slot(request.mapnum.into());
    assert!(is_in_payload(offset, len) && offset >= entries);
    let at = slot_offset(wire.slots, request.slot) + offset_of!(Slot, reply_payload);
    // SAFETY: the caller vouches for `from`; the range is in the payload.
    unsafe {
        wire.words().write_bytes(at + offset - entries, from, len);
    }
}

fn is_in_payload(offset: usize, len: usize) -> bool {
    offset.checked_add(len).is_some_and(|end| end <= PAYLOAD)
}
