//! Consumer of [`native`](shared_abi::wire::native).

use core::mem::offset_of;

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

use super::{
    Arg, At, Attached, Copier, Kind, Place, Poll, PollWire, Taken, Wire, WireConfig, WireParts,
};
use crate::device::{DeviceError, MappedMemory};

/// Slots that are scanned together: those of one claim group.
const GROUP: u32 = claims::GROUP;

/// Scans of a group that find nothing before the group counts as cold.
const COLD: u8 = 64;

/// Requests taken from one slot in a row before the others are scanned.
const STREAK: u32 = 16;

/// Polls of that slot alone after a request was taken from it, before a scan of
/// the others: a lone caller is served without touching the lines of the ready hints.
const PATIENCE: u32 = 8;

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
    pub fn poll(&mut self) -> Poll {
        let Recent {
            slot,
            streak,
            polls,
        } = self.recent;
        if streak < STREAK && polls > 0 {
            let found = self.take(slot);
            let taken = found != Poll::Empty;
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
            && let found @ (Poll::Taken(_) | Poll::ProtocolError(_)) = self.scan_cold()
        {
            return found;
        }
        let count = self.groups.len();
        for i in 0..count {
            let group = (self.begin + i) % count;
            if self.groups[group].empty < COLD
                && let found @ (Poll::Taken(_) | Poll::ProtocolError(_)) = self.scan(group)
            {
                self.begin = group + 1;
                self.since_cold += 1;
                return found;
            }
        }
        self.scan_cold()
    }

    fn scan_cold(&mut self) -> Poll {
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
    pub fn poll_all(&mut self) -> Poll {
        for group in 0..self.groups.len() {
            if let found @ (Poll::Taken(_) | Poll::ProtocolError(_)) = self.scan(group) {
                return found;
            }
        }
        Poll::Empty
    }

    fn scan(&mut self, group: usize) -> Poll {
        let first = group as u32 * GROUP;
        let count = GROUP.min(self.slots - first);
        let begin = self.groups[group].begin;
        for i in (begin..count).chain(0..begin) {
            let slot = first + i;
            // Relaxed: advisory; `take` reads the sequence number in the slot. A ready hint that
            // lags behind is seen by a later scan.
            let ready = self.system.load32(ready_offset(slot), Load::Relaxed);
            if ready != self.last_seq[slot as usize]
                && let found @ (Poll::Taken(_) | Poll::ProtocolError(_)) = self.take(slot)
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
    fn take(&mut self, slot: u32) -> Poll {
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
        Poll::Taken(Taken {
            func: self
                .system
                .load64(at + offset_of!(RequestHeader, func), Load::Relaxed),
            mapnum: word32(offset_of!(RequestHeader, mapnum)).into(),
            launch: word32(offset_of!(RequestHeader, launch)),
            at: At::Native {
                slot,
                seq,
                bounce_first: word32(offset_of!(RequestHeader, bounce_first)),
                bounce_blocks: word32(offset_of!(RequestHeader, bounce_blocks)),
            },
        })
    }
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    fn poll(&mut self) -> Poll {
        Poller::poll(self)
    }

    fn poll_all(&mut self) -> Poll {
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

/// How this wire is made.
pub(super) const KIND: Kind = Kind {
    kind: WireKind::NATIVE,
    bytes: |config| size(config.slots),
    attach: |memory, config, _bounce| {
        let (slots, seq) = (config.slots, config.initial_seq);
        let wire = Native::new(memory, slots, seq);
        let poller = Poller::new(wire.words(), slots, seq);
        let address = wire.memory.device;
        WireParts {
            transport: Attached {
                address,
                wire: Box::new(wire),
            },
            poller: Box::new(poller),
        }
    },
};

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

/// The wire in mapped memory.
struct Native {
    memory: MappedMemory,
    slots: u32,
}

impl Native {
    /// A wire in `memory`, which is zeroed and large enough, whose slots have had
    /// the sequence number `seq`.
    fn new(memory: MappedMemory, slots: u32, seq: u32) -> Self {
        let this = Self { memory, slots };
        let words = this.words();
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
        this
    }

    fn words(&self) -> Coherent {
        // SAFETY: the memory has the size of the layout that all offsets come
        // from, with slots below `self.slots`; wires and pollers live in a
        // server, which drops them together; all accesses on both sides are
        // atomic.
        unsafe { Coherent::new(self.memory.host.as_ptr()) }
    }
}

fn native(taken: &Taken) -> (u32, u32, u32, u32) {
    match taken.at {
        At::Native {
            slot,
            seq,
            bounce_first,
            bounce_blocks,
        } => (slot, seq, bounce_first, bounce_blocks),
        At::Gcc { .. } => unreachable!("a request is served by the wire it was taken from"),
    }
}

impl Wire for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn slots(&self) -> Option<u32> {
        Some(self.slots)
    }

    fn read_args(
        &self,
        taken: &Taken,
        copier: &mut Copier,
        limit: u64,
        args: &mut Vec<Arg>,
        places: &mut Vec<Place>,
    ) -> Result<(), String> {
        if taken.mapnum == 0 {
            return Ok(());
        }
        if taken.mapnum > limit {
            return Err(format!(
                "{} arguments, at most {limit} are allowed",
                taken.mapnum
            ));
        }
        let (slot, _, first, blocks) = native(taken);
        let extent = first as usize * BLOCK;
        let extent_len = blocks as usize * BLOCK;
        if blocks > MAX_EXTENT
            || extent
                .checked_add(extent_len)
                .is_none_or(|end| end > copier.bounce_bytes())
        {
            return Err(format!("{blocks} bounce blocks at {first}: no such extent"));
        }
        let bounce = copier.bounce();
        let words = self.words();
        let count = taken.mapnum as usize;
        let list = count * size_of::<MapEntry>();
        let (source, base): (&Coherent, usize) = if count <= ENTRIES_IN_SLOT as usize {
            (
                &words,
                slot_offset(self.slots, slot) + offset_of!(Slot, request_payload),
            )
        } else if list <= extent_len {
            (&bounce, extent)
        } else {
            return Err(format!(
                "{count} arguments do not fit an extent of {blocks} blocks"
            ));
        };
        let mut carried = 0;
        for i in 0..count {
            let at = base + i * size_of::<MapEntry>();
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
            let place = match place {
                PLACE_DEVICE => Place::Device,
                _ if carried == MAX_CARRIED => {
                    return Err(format!("more than {MAX_CARRIED} arguments are carried"));
                }
                PLACE_SLOT if fits(entry_bytes_in_slot(taken.mapnum), PAYLOAD) => {
                    Place::Slot(offset, carried)
                }
                PLACE_BOUNCE if fits(0, extent_len) => Place::Bounce(extent + offset, carried),
                _ => {
                    return Err(format!(
                        "argument {i} is said to be carried at place {place}, offset {offset}, \
                         {size} bytes"
                    ));
                }
            };
            carried += u32::from(place != Place::Device);
            args.push(Arg {
                addr,
                size,
                kind: MapKind(kind),
            });
            places.push(place);
        }
        Ok(())
    }

    unsafe fn read_slot(&self, taken: &Taken, offset: usize, to: *mut u8, len: usize) {
        let (slot, ..) = native(taken);
        let at = slot_offset(self.slots, slot) + offset_of!(Slot, request_payload) + offset;
        // SAFETY: the caller vouches for `to` and for the range in the payload.
        unsafe { self.words().read_bytes(at, to, len) };
    }

    unsafe fn write_slot(&self, taken: &Taken, offset: usize, from: *const u8, len: usize) {
        let (slot, ..) = native(taken);
        // `read_args` checked that the bytes come after the entries.
        let offset = offset - entry_bytes_in_slot(taken.mapnum);
        let at = slot_offset(self.slots, slot) + offset_of!(Slot, reply_payload) + offset;
        // SAFETY: the caller vouches for `from` and for the range in the payload.
        unsafe { self.words().write_bytes(at, from, len) };
    }

    fn complete(
        &self,
        taken: &Taken,
        _copier: &mut Copier,
        status: Status,
        copied: u64,
    ) -> Result<(), DeviceError> {
        let (slot, seq, ..) = native(taken);
        complete(&self.words(), self.slots, slot, seq, status, copied);
        Ok(())
    }
}
