//! Producer of [`native`](shared_abi::wire::native).

use core::mem::offset_of;

use shared_abi::status::Status;
use shared_abi::wire::native::{
    MapEntry, ReplyHeader, RequestHeader, Slot, door_offset, slot_offset,
};
use shared_abi::words::{Load, Store, SystemWords};

use crate::claims::Claim;

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
