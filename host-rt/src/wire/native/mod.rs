//! Consumer of [`native`](shared_abi::wire::native). docs/native-wire.md specifies the protocol.

mod args;
mod poller;
mod words;

use core::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::wire::native::{RequestMeta, WRITTEN_BITS, reply_payload_row, size};
use shared_abi::words::{Coherent, SystemWords};

pub(super) use self::args::{read_args, read_payload, write_payload};
pub use self::poller::Poller;
pub(super) use self::words::HeldRows;
use self::words::Words;
use super::DeviceAccess;
use super::memory::{Wire, WireConfig};
pub use super::warps::{LaneSlot, Warps};
use crate::device::MappedMemory;

/// The words of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeRequest {
    /// The lane that made it.
    pub lane: LaneSlot,
    /// Function word.
    pub func: u64,
    /// Its shape.
    pub meta: RequestMeta,
    /// Key of the launch that made the request.
    pub launch: u32,
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

/// Writes the rows of a reply that were held back, before [`complete`].
#[inline]
pub(super) fn write_held(
    system: impl SystemWords,
    warps: &Warps,
    request: &NativeRequest,
    held: &HeldRows,
) {
    let lanes = warps.lanes;
    Words { system, lanes }.write_held(request.lane, held);
}

/// Completes a request, after its reply's payload was written. Bit `i` of `written`: marshalled
/// argument `i` was written.
pub fn complete(
    system: impl SystemWords,
    warps: &Warps,
    request: &NativeRequest,
    status: Status,
    written: u64,
) {
    end(system, warps, request.lane, request.meta, (status, written));
}

/// Completes a request whose launch is aborted, instead of the thread that runs its function.
pub(crate) fn complete_aborted(wire: &Wire, lane: LaneSlot, meta: RequestMeta) {
    end(wire.words(), &wire.warps, lane, meta, (Status::ABORTED, 0));
}

/// The last step of a request.
fn end(
    system: impl SystemWords,
    warps: &Warps,
    lane: LaneSlot,
    meta: RequestMeta,
    end: (Status, u64),
) {
    let lanes = warps.lanes;
    let words = Words { system, lanes };
    reply(&words, warps, lane, meta.mapnum(), end, || {
        words.clear_at_wrap(lane);
    });
}

/// Replies to a lane with `mapnum` arguments. Calls `before_last` before the last reply of the slot's
/// lanes, with which the device owns the slot.
fn reply(
    words: &Words<impl SystemWords>,
    warps: &Warps,
    lane: LaneSlot,
    mapnum: u32,
    (status, written): (Status, u64),
    before_last: impl FnOnce(),
) {
    if reply_payload_row(mapnum) > 1 {
        words.write_reply(lane, 1, written >> WRITTEN_BITS);
    }
    let publish = |row, is_last| {
        if is_last {
            before_last();
        }
        words.publish(lane, row);
    };
    let row = [status.0, written as u32];
    if lane.count == 1 {
        publish(row, true);
    } else {
        words.write_reply(lane, 0, u64::from(row[0]) | u64::from(row[1]) << 32);
        warps.finish(lane, status, row[1], publish);
    }
}

/// Size of the wire in mapped memory, in bytes.
pub(super) fn bytes(config: &WireConfig) -> usize {
    size(config.slots, config.lanes)
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
    let &WireConfig { slots, lanes, .. } = config;
    let warps = Arc::new(Warps::new(slots, lanes));
    let wire = Wire {
        kind: WireKind::NATIVE,
        name: "native",
        slots,
        keeps_slots: true,
        warps: Arc::clone(&warps),
        memory,
        access: access.clone(),
    };
    // SAFETY: the caller keeps the wire while it uses the poller.
    let words = unsafe { wire.detached_words() };
    let poller = Poller::new(words, warps, initial_seq(config));
    (wire, poller)
}

/// The sequence number before the first. 0 would make the first request one at the wrap.
fn initial_seq(config: &WireConfig) -> u32 {
    config.initial_seq.max(1)
}

/// The initial claims on the slots of the wire and on `bounce_blocks`, as bytes for device memory.
pub(crate) fn claims(config: &WireConfig, bounce_blocks: u32) -> Vec<u8> {
    let slots = config.slots;
    let mut bytes = vec![0; claims::size(slots, bounce_blocks)];
    let mut put = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    for group in 0..claims::groups(slots) {
        let at = claims::group_offset(group);
        let present = (slots - group * claims::GROUP).min(claims::GROUP);
        // Bits without a slot stay taken.
        let taken = (u64::from(u32::MAX) << present) as u32;
        put(at + offset_of!(ClaimGroup, taken), taken);
        for i in 0..claims::GROUP as usize {
            put(
                at + offset_of!(ClaimGroup, seqs) + i * 4,
                initial_seq(config),
            );
        }
    }
    bytes
}
