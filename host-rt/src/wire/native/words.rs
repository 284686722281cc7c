//! The rows of a wire.

use std::ops::Range;

use shared_abi::wire::native::{
    ROW, cell, progress_offset, replies_offset, row_offset, slot_bytes, slot_offset,
};
use shared_abi::words::{Coherent, SystemWords};

use super::LaneSlot;
use crate::wire::memory::Wire;

/// Rows of a lone lane in a cache line.
const LINE_ROWS: u32 = (Coherent::LINE / ROW) as u32;

/// Rows of a request that are prefetched.
const MAX_PREFETCH: u32 = 16;

/// The words of a wire, with slots for up to `lanes` lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<S> {
    pub(super) system: S,
    pub(super) lanes: u32,
}

impl Words<Coherent> {
    pub(super) fn of(wire: &Wire) -> Words<impl SystemWords + use<'_>> {
        Words {
            system: wire.words(),
            lanes: wire.warps.lanes,
        }
    }
}

impl<S: SystemWords> Words<S> {
    /// The cells of a row of a request.
    #[inline]
    pub(super) fn request_row(&self, lane: LaneSlot, row: u32) -> [u64; 2] {
        let at = slot_offset(self.lanes, lane.slot) + row_offset(row, lane.rank, lane.count);
        self.system.load_pair(at)
    }

    /// Begins to load the rows after the first line of a request that a lone lane may write next. The
    /// first line is polled anyway.
    #[inline]
    pub(super) fn prefetch_request(&self, slot: u32, rows: u32) {
        for row in (LINE_ROWS..rows.min(MAX_PREFETCH)).step_by(LINE_ROWS as usize) {
            self.system
                .prefetch(slot_offset(self.lanes, slot) + row_offset(row, 0, 1));
        }
    }

    /// The data of a row of a request that has arrived.
    #[inline]
    pub(super) fn request_data(&self, lane: LaneSlot, row: u32) -> u64 {
        let [low, high] = self.request_row(lane, row);
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    /// The data of a row of a request, if it has arrived.
    #[inline]
    pub(super) fn arrived(&self, lane: LaneSlot, row: u32) -> Option<[u32; 2]> {
        let pair = self.request_row(lane, row);
        let is_arrived = pair.iter().all(|cell| (cell >> 32) as u32 == lane.seq);
        is_arrived.then_some(pair.map(|cell| cell as u32))
    }

    #[inline]
    pub(super) fn reply_offset(&self, lane: LaneSlot, row: u32) -> usize {
        slot_offset(self.lanes, lane.slot)
            + replies_offset(self.lanes)
            + row_offset(row, lane.rank, lane.count)
    }

    /// The data of a row of a reply.
    #[inline]
    pub(super) fn reply_data(&self, lane: LaneSlot, row: u32, held: &HeldRows) -> u64 {
        if let Some(data) = held.get(lane, row) {
            return data;
        }
        let [low, high] = self.system.load_pair(self.reply_offset(lane, row));
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    /// Writes a row of a reply, at the latest when the `held` rows are written.
    #[inline]
    pub(super) fn hold_or_write(&self, lane: LaneSlot, row: u32, data: u64, held: &mut HeldRows) {
        if !held.hold(lane, row, data) {
            self.write_reply(lane, row, data);
        }
    }

    /// Prepares to write the rows of a reply after those that can be held.
    #[inline]
    pub(super) fn prefetch_reply(&self, lane: LaneSlot, rows: Range<u32>) {
        let first = rows.start.max(LINE_ROWS);
        for row in (first..rows.end).step_by(LINE_ROWS as usize) {
            self.system.prefetch_to_store(self.reply_offset(lane, row));
        }
    }

    /// Writes the `held` rows.
    #[inline]
    pub(super) fn write_held(&self, lane: LaneSlot, held: &HeldRows) {
        for row in 1..LINE_ROWS {
            if let Some(data) = held.get(lane, row) {
                self.write_reply(lane, row, data);
            }
        }
    }

    /// Writes a row of a reply.
    #[inline]
    pub(super) fn write_reply(&self, lane: LaneSlot, row: u32, data: u64) {
        let cells = [data as u32, (data >> 32) as u32].map(|data| cell(data, lane.seq));
        self.system.store_pair(self.reply_offset(lane, row), cells);
    }

    /// Writes the row that lanes poll, after the results.
    #[inline]
    pub(super) fn publish(&self, lane: LaneSlot, [first, second]: [u32; 2]) {
        let at = if lane.count == 1 {
            self.reply_offset(lane, 0)
        } else {
            slot_offset(self.lanes, lane.slot) + progress_offset(self.lanes)
        };
        // Edge `N2`, completing end: a lane that sees these cells, and then acquires, sees the results
        // in the bounce extent and in device memory. The fence also keeps the loads of the request,
        // and the clearing of the slot, before the device owns the slot.
        self.system.release_fence();
        self.system
            .store_pair(at, [first, second].map(|data| cell(data, lane.seq)));
    }

    /// Clears the requests of the slot of `lane` if their sequence number is the last before the wrap:
    /// no cell of this cycle may look like one of the next.
    pub(super) fn clear_at_wrap(&self, lane: LaneSlot) {
        if lane.seq == u32::MAX {
            self.clear(lane.slot, 0..replies_offset(self.lanes));
        }
    }

    /// Clears the replies of a slot, and its progress row.
    pub(super) fn clear_replies(&self, slot: u32) {
        self.clear(slot, replies_offset(self.lanes)..slot_bytes(self.lanes));
    }

    fn clear(&self, slot: u32, bytes: Range<usize>) {
        let start = slot_offset(self.lanes, slot);
        for at in bytes.step_by(ROW) {
            self.system.store_pair(start + at, [0; 2]);
        }
    }
}

/// The rows of a reply to a lone lane that are in the cache line that it polls. They are written
/// together with the row that it waits for: if they were written earlier, the lane's polls would take
/// the line away in between.
#[derive(Debug, Default)]
pub(in crate::wire) struct HeldRows {
    data: [u64; LINE_ROWS as usize],
    /// Those that have data, one bit each.
    held: u32,
}

impl HeldRows {
    /// Holds a row back if it is one of these; returns whether it is.
    #[inline]
    fn hold(&mut self, lane: LaneSlot, row: u32, data: u64) -> bool {
        let is_held = lane.count == 1 && row < LINE_ROWS;
        if is_held {
            self.data[row as usize] = data;
            self.held |= 1 << row;
        }
        is_held
    }

    #[inline]
    fn get(&self, lane: LaneSlot, row: u32) -> Option<u64> {
        let is_held = lane.count == 1 && row < LINE_ROWS && self.held & 1 << row != 0;
        is_held.then(|| self.data[row as usize])
    }
}
