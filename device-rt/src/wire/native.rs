//! Producer of [`native`](shared_abi::wire::native).

use core::mem::offset_of;

use shared_abi::image::Runtime;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::native::{
    ENTRIES_IN_SLOT, MapEntry, PLACE_SLOT, ReplyHeader, RequestHeader, Slot, door_offset,
    entry_bytes_in_slot, slot_offset,
};
use shared_abi::words::{Load, Store, SystemWords};

use super::{Call, Wire, ring_if_asleep};
use crate::arch;
use crate::bounce::{self, Run};
use crate::carry::{CarriedIndex, Plan};
use crate::claims::{self, Claim};
use crate::runtime::ICVS;

/// Calls through a slot of its own each.
pub(crate) struct Native;

impl Wire for Native {
    const KIND: WireKind = WireKind::NATIVE;

    fn call(runtime: &Runtime, call: Call) -> Status {
        let count = call.args.count();
        let Ok(mapnum) = u32::try_from(count) else {
            return Status::REFUSED_MAPPING;
        };

        let mut plan = Plan::new(count, call.spaces);
        for i in 0..count {
            if plan.next(call.args.get(i)).is_err() {
                return Status::REFUSED_MAPPING;
            }
        }
        let Some(blocks) = bounce::blocks_for(plan.bounce_bytes(), runtime.bounce_blocks) else {
            return Status::REFUSED_MAPPING;
        };

        // SAFETY: the host filled `runtime` with the addresses of a wire, claims, a
        // bounce area and a bell of the given geometry, which it keeps while kernels
        // of this image run.
        let (wire, device, area, bell) = unsafe {
            (
                arch::mapped(runtime.wire),
                arch::device_memory(runtime.claims),
                arch::mapped(runtime.bounce),
                arch::mapped(runtime.bell),
            )
        };
        let slots = runtime.slots;
        let run = bounce::claim(
            &device,
            slots,
            runtime.bounce_blocks,
            blocks,
            call.hint,
            arch::pause,
        );
        let claim = claims::claim(&device, slots, call.hint, arch::pause);
        let producer = Producer::new(wire, slots);

        // Entries and carried bytes. A place is an offset in the payload or the run.
        let entries_in_slot = count <= ENTRIES_IN_SLOT as usize;
        each_entry(call, |i, entry, carried| {
            if entries_in_slot {
                write_entry(&wire, producer.request_payload(claim), i, entry);
            } else {
                write_entry(&area, run.offset(), i, entry);
            }
            if carried.is_some() && MapKind(entry.kind).reads_device() {
                let (memory, base) = if entry.place == PLACE_SLOT {
                    (&wire, producer.request_payload(claim))
                } else {
                    (&area, run.offset())
                };
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range.
                unsafe {
                    memory.write_bytes(
                        base + entry.offset as usize,
                        entry.addr as *const u8,
                        entry.size as usize,
                    );
                }
            }
        });

        producer.publish(
            claim,
            &RequestHeader {
                turn: claim.turn,
                launch: call.launch,
                func: call.func,
                mapnum,
                dev_num: ICVS.get().device_num,
                bounce_first: run.first,
                bounce_blocks: run.blocks,
            },
        );
        if arch::HAS_BELL {
            ring_if_asleep(&bell, arch::ring);
        }
        let reply = producer.wait(claim, arch::pause);

        if reply.copied != 0 {
            each_entry(call, |_, entry, carried| {
                let back = carried.is_some_and(|c| reply.copied & (1 << c) != 0);
                if back && MapKind(entry.kind).writes_device() {
                    let (memory, base) = if entry.place == PLACE_SLOT {
                        (
                            &wire,
                            producer.reply_payload(claim) - entry_bytes_in_slot(count as u64),
                        )
                    } else {
                        (&area, run.offset())
                    };
                    // SAFETY: as above; the kind says that the range is writable.
                    unsafe {
                        memory.read_bytes(
                            base + entry.offset as usize,
                            entry.addr as *mut u8,
                            entry.size as usize,
                        );
                    }
                }
            });
        }
        claims::release(&device, claim);
        if run != Run::NONE {
            bounce::release(&device, slots, run);
        }
        reply.status
    }
}

/// Walks the plan of a call that is known to have one.
fn each_entry(call: Call, mut visit: impl FnMut(usize, &MapEntry, Option<CarriedIndex>)) {
    let mut plan = Plan::new(call.args.count(), call.spaces);
    for i in 0..call.args.count() {
        if let Ok((entry, carried)) = plan.next(call.args.get(i)) {
            visit(i, &entry, carried);
        }
    }
}

/// The wire, seen from the device.
#[derive(Clone, Copy, Debug)]
pub struct Producer<S> {
    system: S,
    slots: u32,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// How it ended.
    pub status: Status,
    /// See [`ReplyHeader::copied`].
    pub copied: u64,
}

impl<S: SystemWords> Producer<S> {
    /// The wire of `slots` slots in `system`.
    pub const fn new(system: S, slots: u32) -> Self {
        Self { system, slots }
    }

    /// The memory that the wire lies in.
    pub const fn system(&self) -> &S {
        &self.system
    }

    /// Byte offset of the request's payload.
    pub const fn request_payload(&self, claim: Claim) -> usize {
        slot_offset(self.slots, claim.slot) + offset_of!(Slot, request_payload)
    }

    /// Byte offset of the reply's payload.
    pub const fn reply_payload(&self, claim: Claim) -> usize {
        slot_offset(self.slots, claim.slot) + offset_of!(Slot, reply_payload)
    }

    /// Publishes the request whose payload is written. `header.turn` is ignored:
    /// the claim has it.
    pub fn publish(&self, claim: Claim, header: &RequestHeader) {
        let at = slot_offset(self.slots, claim.slot) + offset_of!(Slot, request);
        // Relaxed: N1 orders these for the host.
        self.system.store32(
            at + offset_of!(RequestHeader, launch),
            header.launch,
            Store::Relaxed,
        );
        self.system.store64(
            at + offset_of!(RequestHeader, func),
            header.func,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, mapnum),
            header.mapnum,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, dev_num),
            header.dev_num as u32,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, bounce_first),
            header.bounce_first,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, bounce_blocks),
            header.bounce_blocks,
            Store::Relaxed,
        );
        // Edge `N1`, publishing end: whoever sees this turn sees the header and the
        // payload, in the slot and in the bounce run.
        self.system.store32(
            at + offset_of!(RequestHeader, turn),
            claim.turn,
            Store::Release,
        );
        // Relaxed: a hint to look at the slot; the turn there decides.
        self.system
            .store32(door_offset(claim.slot), claim.turn, Store::Relaxed);
    }

    /// Whether the reply to the claim's request is there, and which.
    pub fn reply(&self, claim: Claim) -> Option<Reply> {
        let at = slot_offset(self.slots, claim.slot) + offset_of!(Slot, reply);
        // Edge `N2`, waiting end: with the turn comes the rest of the reply.
        if self
            .system
            .load32(at + offset_of!(ReplyHeader, turn), Load::Acquire)
            != claim.turn
        {
            return None;
        }
        // Relaxed: N2 orders these.
        let status = self
            .system
            .load32(at + offset_of!(ReplyHeader, status), Load::Relaxed);
        let copied = self
            .system
            .load64(at + offset_of!(ReplyHeader, copied), Load::Relaxed);
        Some(Reply {
            status: Status(status),
            copied,
        })
    }

    /// Waits for the reply to the claim's request.
    pub fn wait(&self, claim: Claim, pause: impl Fn(u32)) -> Reply {
        let mut attempt = 0;
        loop {
            if let Some(reply) = self.reply(claim) {
                return reply;
            }
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }
}

/// Writes the `index`-th entry of a list that starts at `at`.
pub fn write_entry(system: &impl SystemWords, at: usize, index: usize, entry: &MapEntry) {
    let at = at + index * size_of::<MapEntry>();
    let tail =
        u64::from(entry.kind) | (u64::from(entry.place) << 16) | (u64::from(entry.offset) << 32);
    // Relaxed: N1 orders these for the host.
    system.store64(at + offset_of!(MapEntry, addr), entry.addr, Store::Relaxed);
    system.store64(at + offset_of!(MapEntry, size), entry.size, Store::Relaxed);
    // Kind, place and offset are one little-endian word: one store, not three.
    system.store64(at + offset_of!(MapEntry, kind), tail, Store::Relaxed);
}

const _: () = assert!(
    offset_of!(MapEntry, place) == offset_of!(MapEntry, kind) + 2
        && offset_of!(MapEntry, offset) == offset_of!(MapEntry, kind) + 4
        && cfg!(target_endian = "little")
);
