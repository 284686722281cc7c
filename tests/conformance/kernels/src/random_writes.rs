//! A broken device that writes anything anywhere in the slots and the bounce area of `native`.

use core::mem::offset_of;

use revoff_device::arch;
use revoff_device::claims::Claim;
use revoff_device::host_written::RUNTIME;
use revoff_device::shared_abi::wire::bounce::BLOCK;
use revoff_device::shared_abi::wire::claims::{self, ClaimGroup};
use revoff_device::shared_abi::wire::native::{
    MAX_LANES, MAX_ROWS, PLACE_BOUNCE, RequestMeta, cell, cell_data, claim_of, lane_rows, next_seq,
    progress_offset, replies_offset, size, slot_offset,
};
use revoff_device::shared_abi::words::{DeviceWords, Load, Store, SystemWords};
use revoff_device::wire::native::{LaneRows, Producer};

/// A round in this many waits for a reply, so that the host has taken the request.
const WAITING: u64 = 4;

/// Polls of such a round. A request that the host does not take has no reply.
const POLLS: u32 = 1000;

/// The first rounds of a launch wait patiently, with fewer polls and longer pauses: on a busy machine
/// the host then takes some requests, too.
const PATIENT: (u64, u32) = (32, 400);

/// Xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Data that is valid at many places of a request, or anything.
    ///
    /// # Safety
    /// `hints` are `count` words.
    unsafe fn data(&mut self, hints: *const u64, count: u64) -> u64 {
        match self.below(4) {
            // SAFETY: the index is below `count`.
            0 => unsafe { *hints.add(self.below(count) as usize) },
            1 => self.below(300),
            2 => {
                // The tail of an entry.
                let kind = self.below(5);
                let place = self.below(u64::from(PLACE_BOUNCE) + 2);
                kind | place << 16 | self.below(2 * BLOCK as u64) << 32
            }
            _ => self.next(),
        }
    }
}

/// Writes `rounds` requests, and other words, of which most are invalid. `hints` are `count` words that
/// are valid in requests; the first is a function word.
///
/// # Safety
/// `hints` are there.
#[revoff_device::kernel]
pub unsafe fn write_randomly(seed: u64, rounds: u64, hints: *const u64, count: u64) {
    let runtime = RUNTIME.get();
    // SAFETY: the host filled `runtime` with the addresses of memory that it keeps while kernels of
    // this image run; all offsets below come from its layouts.
    let (wire, device, area) = unsafe {
        (
            arch::mapped(runtime.wire),
            arch::device_memory(runtime.claims),
            arch::mapped(runtime.bounce),
        )
    };
    let producer = Producer::new(wire, runtime.lanes);
    let mut random = Random(seed | 1);
    for round in 0..rounds {
        let slot = random.below(runtime.slots.into()) as u32;
        let (group, bit) = claim_of(slot);
        let seqs = claims::group_offset(group) + offset_of!(ClaimGroup, seqs) + bit as usize * 4;
        // Relaxed: this thread is the only one.
        let mut seq = next_seq(DeviceWords::load32(&device, seqs, Load::Relaxed));
        if random.below(16) == 0 {
            // Near, or just before the wrap.
            seq = match random.below(2) {
                0 => seq.wrapping_add(random.below(8) as u32),
                _ => (random.below(8) as u32).wrapping_sub(4),
            };
        }
        DeviceWords::store32(&device, seqs, seq, Store::Relaxed);

        let lanes = match random.below(4) {
            0 => 1 + random.below(MAX_LANES.into()) as u32,
            _ => 1 + random.below(runtime.lanes.into()) as u32,
        };
        let claim = Claim { slot, seq };
        let rows_of_lane = lane_rows(runtime.lanes, lanes.min(runtime.lanes)).min(MAX_ROWS);
        let rows = 1 + random.below(rows_of_lane.into()) as u32;
        let writing = lanes.min(runtime.lanes);
        for rank in 0..writing {
            let mut to = producer.request(LaneRows {
                claim,
                rank,
                count: writing,
            });
            let mapnum = random.below(20) as u32;
            let meta = RequestMeta::new(lanes, rows, random.below(2) == 0, mapnum);
            for row in 0..rows {
                // SAFETY: the launcher's promise.
                let data = unsafe {
                    match row {
                        0 if random.below(8) > 0 => {
                            u64::from(meta.0) | u64::from(arch::context().launch) << 32
                        }
                        1 if random.below(8) > 0 => *hints,
                        _ => random.data(hints, count),
                    }
                };
                to.push([data as u32, (data >> 32) as u32]);
            }
        }
        for _ in 0..random.below(8) {
            // SAFETY: the launcher's promise.
            let data = unsafe { random.data(hints, count) };
            let in_wire = random.below(size(runtime.slots, runtime.lanes) as u64 / 8) * 8;
            let in_area = random.below(u64::from(runtime.bounce_blocks) * BLOCK as u64 / 8) * 8;
            match random.below(3) {
                0 => wire.store64(in_wire as usize, data, Store::Relaxed),
                1 => wire.store64(in_wire as usize, cell(data as u32, seq), Store::Relaxed),
                _ => area.store64(in_area as usize, data, Store::Relaxed),
            }
        }
        wire.release_fence();
        arch::wake_host();
        let is_patient = round < PATIENT.0;
        if is_patient || random.below(WAITING) == 0 {
            let reply = slot_offset(runtime.lanes, slot)
                + match writing {
                    1 => replies_offset(runtime.lanes),
                    _ => progress_offset(runtime.lanes),
                };
            let limit = if is_patient { PATIENT.1 } else { POLLS };
            let mut polls = 0;
            while polls < limit && cell_data(wire.load_pair(reply)[0], seq).is_none() {
                arch::pause(if is_patient { polls } else { 0 });
                polls += 1;
            }
        }
    }
}
