//! A host for the `native` wire that serves calls of one range, in any order, and records them.

extern crate std;

use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::string::String;
use std::sync::Mutex;
use std::vec::Vec;
use std::{format, thread, vec};

use shared_abi::image::DeviceConfig;
use shared_abi::status::Status;
use shared_abi::wire::native::{
    self, MapEntry, PLACE_SLOT, ReplyHeader, RequestHeader, Slot, entry_bytes_in_slot,
    pack_completion, slot_offset,
};
use shared_abi::wire::{WakeWord, WireKind, bounce, claims};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use crate::host_written::HostWritten;

/// Blocks of the bounce area.
const AREA: u32 = claims::GROUP;

/// The value that the host XORs into every byte of a range.
pub(super) const CHANGE: u8 = 0x5a;

/// The status of the reply to `func`.
pub(super) fn status_of(func: u64) -> Status {
    Status(func as u32 ^ 0x8000_0000)
}

/// Byte `i` of the range that `func` gets.
pub(super) fn byte_of(func: u64, i: usize) -> u8 {
    func.wrapping_mul(31).wrapping_add(i as u64 * 7) as u8
}

/// The memory of a wire, and a record of its calls.
pub(super) struct Serving {
    slots: u32,
    /// The number of pending requests before the first reply.
    at_once: usize,
    // The wire, the claims, the bounce area and the wake word.
    memory: [Vec<AtomicU64>; 4],
    unused: (u32, u32),
    /// How often each function was called.
    pub(super) served: Mutex<BTreeMap<u64, u32>>,
    wrong: Mutex<Vec<String>>,
    stop: AtomicBool,
}

/// A request that has no reply yet.
#[derive(Clone, Copy)]
struct Pending {
    slot: u32,
    seq: u32,
    func: u64,
}

impl Serving {
    /// A wire of `slots` slots with `blocks` bounce blocks, and a host that gives its first reply
    /// when `at_once` requests are pending.
    pub(super) fn new(slots: u32, blocks: u32, at_once: u32) -> Self {
        let words = |bytes: usize| (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        let this = Self {
            slots,
            at_once: at_once as usize,
            memory: [
                words(native::size(slots)),
                words(claims::size(slots, AREA)),
                words(AREA as usize * bounce::BLOCK),
                words(size_of::<WakeWord>()),
            ],
            unused: (all_but(slots), all_but(blocks)),
            served: Mutex::default(),
            wrong: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        let (slots, blocks) = this.taken();
        this.words(1).store32(slots, this.unused.0, Store::Relaxed);
        this.words(1).store32(blocks, this.unused.1, Store::Relaxed);
        this
    }

    pub(super) fn runtime(&self) -> HostWritten<DeviceConfig> {
        let [wire, claims, bounce, wake_word] =
            core::array::from_fn(|i| self.memory[i].as_ptr() as u64);
        HostWritten::new(DeviceConfig {
            wire_kind: WireKind::NATIVE.0,
            slots: self.slots,
            wire,
            claims,
            bounce,
            wake_word,
            bounce_blocks: AREA,
            reserved: 0,
        })
    }

    /// Whether a slot has the request that calls `func`.
    pub(super) fn has(&self, func: u64) -> bool {
        (0..self.slots).any(|slot| self.func(slot) == func)
    }

    /// Serves until it is stopped.
    pub(super) fn serve(&self) {
        let mut seqs = vec![0; self.slots as usize];
        let mut pending = Vec::<Pending>::new();
        let mut random = 1u64;
        let mut replies = false;
        while !self.stop.load(Ordering::Relaxed) {
            for slot in 0..self.slots {
                let last = &mut seqs[slot as usize];
                let seq = self.words(0).load32(self.request(slot), Load::Acquire);
                if seq == *last {
                    continue;
                }
                self.expect(seq == *last + 1, || {
                    format!("sequence number {seq} after {last}")
                });
                let used = pending.iter().any(|p| p.slot == slot);
                self.expect(!used, || format!("slot {slot} is in use already"));
                *last = seq;
                let func = self.func(slot);
                pending.push(Pending { slot, seq, func });
            }
            replies |= pending.len() >= self.at_once;
            // Rarely, so that several requests are pending when one is chosen.
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            if replies && !pending.is_empty() && random >> 62 == 0 {
                let any = (random >> 32) as usize % pending.len();
                self.complete(pending.swap_remove(any));
            }
            thread::yield_now();
        }
    }

    /// Ends [`serve`](Self::serve).
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Checks that nothing failed, and that no slot or block is still taken.
    pub(super) fn check(&self) {
        let wrong = self.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let (slots, blocks) = self.taken();
        let taken = [slots, blocks].map(|at| self.words(1).load32(at, Load::Relaxed));
        assert_eq!(taken, [self.unused.0, self.unused.1], "slots and blocks");
    }

    fn complete(&self, Pending { slot, seq, func }: Pending) {
        let wire = self.words(0);
        let same = self.func(slot) == func && wire.load32(self.request(slot), Load::Acquire) == seq;
        self.expect(same, || format!("slot {slot} changed before its reply"));
        *self.served.lock().unwrap().entry(func).or_default() += 1;

        let payload = slot_offset(self.slots, slot) + offset_of!(Slot, request_payload);
        let size = wire.load64(payload + offset_of!(MapEntry, size), Load::Relaxed) as usize;
        let tail = wire.load64(payload + offset_of!(MapEntry, kind), Load::Relaxed);
        let (place, offset) = ((tail >> 16) as u16, (tail >> 32) as usize);
        let reply = slot_offset(self.slots, slot) + offset_of!(Slot, reply);
        let (memory, from, to) = if place == PLACE_SLOT {
            let back = slot_offset(self.slots, slot) + offset_of!(Slot, reply_payload);
            let to = back + offset - entry_bytes_in_slot(1);
            (wire, payload + offset, to)
        } else {
            let first = self.request(slot) + offset_of!(RequestHeader, bounce_first);
            let at = wire.load32(first, Load::Relaxed) as usize * bounce::BLOCK + offset;
            (self.words(2), at, at)
        };
        for i in 0..size {
            let byte = memory.load8(from + i);
            self.expect(byte == byte_of(func, i), || format!("byte {i} of {func:x}"));
            memory.store8(to + i, byte ^ CHANGE);
        }
        wire.store64(reply + offset_of!(ReplyHeader, copied), 1, Store::Relaxed);
        let answer = pack_completion(seq, status_of(func).0);
        wire.store64(reply + offset_of!(ReplyHeader, seq), answer, Store::Release);
    }

    fn expect(&self, holds: bool, what: impl Fn() -> String) {
        if !holds {
            self.wrong.lock().unwrap().push(what());
        }
    }

    fn request(&self, slot: u32) -> usize {
        slot_offset(self.slots, slot) + offset_of!(Slot, request)
    }

    fn func(&self, slot: u32) -> u64 {
        let at = self.request(slot) + offset_of!(RequestHeader, func);
        self.words(0).load64(at, Load::Relaxed)
    }

    /// The offsets of the words that mark taken slots and taken blocks.
    fn taken(&self) -> (usize, usize) {
        let slots = claims::group_offset(0) + offset_of!(claims::ClaimGroup, taken);
        (slots, claims::bounce_offset(self.slots, 0))
    }

    /// The words of a part of `memory`.
    fn words(&self, which: usize) -> Coherent {
        // SAFETY: the offsets in this file and those of the wire are inside the part; lanes and
        // this host access the memory only through such words.
        unsafe { Coherent::new(self.memory[which].as_ptr().cast_mut().cast()) }
    }
}

/// The bits of a word that mark no slot or block, if the first `n` do.
const fn all_but(n: u32) -> u32 {
    if n == claims::GROUP { 0 } else { u32::MAX << n }
}
