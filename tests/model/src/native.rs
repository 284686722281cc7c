//! Words of the `native` wire that several models use.

use core::mem::offset_of;

use shared_abi::wire::native::{RequestHeader, Slot, ready_offset, slot_offset};

use crate::Memory;

/// Adds the ready hint and the request header of `slot`, on a wire of `slots` slots. The last
/// sequence number of the slot is `seq`.
#[must_use]
pub fn add_request_words(memory: Memory, slots: u32, slot: u32, seq: u32) -> Memory {
    let at = slot_offset(slots, slot) + offset_of!(Slot, request);
    memory
        .flag32(ready_offset(slot), "ready hint", seq)
        .flag32(at + offset_of!(RequestHeader, seq), "request", seq)
        .data32(at + offset_of!(RequestHeader, launch), "launch", 0)
        .data64(at + offset_of!(RequestHeader, func), "func", 0)
        .data32(at + offset_of!(RequestHeader, mapnum), "mapnum", 0)
        .data32(at + offset_of!(RequestHeader, dev_num), "dev_num", 0)
        .data32(
            at + offset_of!(RequestHeader, bounce_first),
            "bounce_first",
            0,
        )
        .data32(
            at + offset_of!(RequestHeader, bounce_blocks),
            "bounce_blocks",
            0,
        )
}
