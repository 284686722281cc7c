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
    self, ENTRY_ROWS, HEADER_ROWS, MAX_LANES_WITH_SUMMARY, PLACE_SLOT, RequestMeta, Summary, cell,
    cell_data, lane_rows, progress_offset, replies_offset, row_offset, slot_offset,
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
    Status(func as u32 & 0x7f | 0x80)
}

/// Byte `i` of the range that `func` gets.
pub(super) fn byte_of(func: u64, i: usize) -> u8 {
    func.wrapping_mul(31).wrapping_add(i as u64 * 7) as u8
}

/// The memory of a wire, and a record of its calls.
pub(super) struct Serving {
    slots: u32,
    lanes: u32,
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
    rank: u32,
    count: u32,
    func: u64,
}

impl Serving {
    /// A wire of `slots` slots for `lanes` lanes with `blocks` bounce blocks, and a host that gives its
    /// first reply when `at_once` requests are pending.
    pub(super) fn new(slots: u32, lanes: u32, blocks: u32, at_once: u32) -> Self {
        let words = |bytes: usize| (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        let this = Self {
            slots,
            lanes,
            at_once: at_once as usize,
            memory: [
                words(native::size(slots, lanes)),
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
            lanes: self.lanes,
        })
    }

    /// Whether a slot has the request that calls `func`.
    pub(super) fn has(&self, func: u64) -> bool {
        (0..self.slots).any(|slot| {
            let Some(seq) = self.seq(slot) else {
                return false;
            };
            self.arrived(slot, seq)
                .is_some_and(|all| all.iter().any(|pending| pending.func == func))
        })
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
                let Some(seq) = self.seq(slot).filter(|seq| seq != last) else {
                    continue;
                };
                self.expect(seq == *last + 1, || {
                    format!("sequence number {seq} after {last}")
                });
                let used = pending.iter().any(|p| p.slot == slot);
                self.expect(!used, || format!("slot {slot} is in use already"));
                let Some(lanes) = self.arrived(slot, seq) else {
                    continue;
                };
                self.words(0).acquire_fence();
                *last = seq;
                pending.extend(lanes);
            }
            replies |= pending.len() >= self.at_once;
            // Rarely, so that several requests are pending when one is chosen.
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            if replies && !pending.is_empty() && random >> 62 == 0 {
                let any = (random >> 32) as usize % pending.len();
                let chosen = pending.swap_remove(any);
                self.complete(chosen);
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

    /// Writes the reply to a request.
    fn complete(&self, pending: Pending) {
        let Pending { seq, func, .. } = pending;
        *self.served.lock().unwrap().entry(func).or_default() += 1;
        let word = |row| self.data(pending, row).unwrap_or_default();
        let has_extent = RequestMeta(word(0) as u32).has_extent();
        let entry = HEADER_ROWS + u32::from(has_extent);
        let (size, tail) = (word(entry + 1) as usize, word(entry + 2));
        let (request, reply) = (entry + ENTRY_ROWS, 1);
        let (place, offset) = ((tail >> 16) as u16, (tail >> 32) as usize);
        if place == PLACE_SLOT {
            self.expect(
                reply + size as u32 / 8 <= lane_rows(self.lanes, pending.count),
                || format!("a reply of {func:x} outside its rows"),
            );
            for i in 0..size / 8 {
                let found = word(request + i as u32);
                let sent = self.bytes_of(func, 8 * i);
                self.expect(found == sent, || {
                    format!("bytes from {} of {func:x}", 8 * i)
                });
                let data = found ^ u64::from_le_bytes([CHANGE; 8]);
                self.reply(pending, reply + i as u32, data);
            }
        } else {
            let block = word(HEADER_ROWS) as u32;
            let at = block as usize * bounce::BLOCK + offset;
            let memory = self.words(2);
            for i in 0..size {
                let byte = memory.load8(at + i);
                self.expect(byte == byte_of(func, i), || format!("byte {i} of {func:x}"));
                memory.store8(at + i, byte ^ CHANGE);
            }
        }
        self.expect(self.seq(pending.slot) == Some(seq), || {
            format!("slot {} changed before its reply", pending.slot)
        });
        self.words(0).release_fence();
        let status = status_of(func);
        self.reply(pending, 0, u64::from(status.0) | 1 << 32);
        if pending.count > 1 {
            self.report_progress(pending, status);
        }
    }

    /// Adds a lane to the progress row of its slot.
    fn report_progress(&self, pending: Pending, status: Status) {
        let Pending {
            slot,
            seq,
            rank,
            count,
            ..
        } = pending;
        let at = slot_offset(self.lanes, slot) + progress_offset(self.lanes);
        let cells = self.words(0).load_pair(at);
        let old = cells.map(|old| cell_data(old, seq).unwrap_or_default());
        let mut new = old;
        if count > MAX_LANES_WITH_SUMMARY {
            new[rank as usize / 32] |= 1 << (rank % 32);
        } else {
            new[0] |= 1 << rank;
            // Each function has a status of its own.
            new[1] = Summary::new(u32::from(old[0] == 0), status, 1).0;
        }
        self.words(0)
            .store_pair(at, new.map(|data| cell(data, seq)));
    }

    fn bytes_of(&self, func: u64, at: usize) -> u64 {
        u64::from_le_bytes(core::array::from_fn(|i| byte_of(func, at + i)))
    }

    fn expect(&self, holds: bool, what: impl Fn() -> String) {
        if !holds {
            self.wrong.lock().unwrap().push(what());
        }
    }

    /// The sequence number in the first cell of a slot, if it has one.
    fn seq(&self, slot: u32) -> Option<u32> {
        let at = slot_offset(self.lanes, slot);
        let seq = (self.words(0).load64(at, Load::Relaxed) >> 32) as u32;
        (seq != 0).then_some(seq)
    }

    /// The requests of all lanes of a slot, if all rows have arrived.
    fn arrived(&self, slot: u32, seq: u32) -> Option<Vec<Pending>> {
        let lane = |rank, count| Pending {
            slot,
            seq,
            rank,
            count,
            func: 0,
        };
        let count = RequestMeta(self.data(lane(0, 1), 0)? as u32).lanes();
        (0..count)
            .map(|rank| {
                let lane = lane(rank, count);
                let rows = RequestMeta(self.data(lane, 0)? as u32).rows();
                let all = (0..rows).all(|row| self.data(lane, row).is_some());
                let func = self.data(lane, 1)?;
                all.then_some(Pending { func, ..lane })
            })
            .collect()
    }

    /// The data of a row of a request, if it has arrived.
    fn data(
        &self,
        Pending {
            slot,
            seq,
            rank,
            count,
            ..
        }: Pending,
        row: u32,
    ) -> Option<u64> {
        let at = slot_offset(self.lanes, slot) + row_offset(row, rank, count);
        let [low, high] = self.words(0).load_pair(at);
        let is_there = [low, high].iter().all(|cell| (cell >> 32) as u32 == seq);
        is_there.then_some(u64::from(low as u32) | u64::from(high as u32) << 32)
    }

    /// Writes a row of a reply.
    fn reply(
        &self,
        Pending {
            slot,
            seq,
            rank,
            count,
            ..
        }: Pending,
        row: u32,
        data: u64,
    ) {
        let area = slot_offset(self.lanes, slot) + replies_offset(self.lanes);
        let cells = [data as u32, (data >> 32) as u32].map(|half| cell(half, seq));
        self.words(0)
            .store_pair(area + row_offset(row, rank, count), cells);
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
