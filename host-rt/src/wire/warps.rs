//! The warps whose lanes share a slot of the `native` wire.

use std::sync::Mutex;

use shared_abi::status::Status;
use shared_abi::wire::native::{MAX_LANES_WITH_SUMMARY, Summary};

use crate::base::lock::lock;

/// One of the lanes whose requests share a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSlot {
    /// The slot.
    pub slot: u32,
    /// The sequence number.
    pub seq: u32,
    /// The number of lanes before this one.
    pub rank: u32,
    /// The number of lanes.
    pub count: u32,
}

/// The warps in the slots of a wire, of which some lanes have completed.
#[derive(Debug, Default)]
pub struct Warps {
    /// Lanes that a slot has room for.
    pub(in crate::wire) lanes: u32,
    slots: Box<[Mutex<Completed>]>,
}

/// The lanes of a slot that have completed.
#[derive(Clone, Copy, Debug, Default)]
struct Completed {
    /// The sequence number of their requests.
    seq: u32,
    /// One bit for each rank.
    done: u64,
    /// Status and written ranges of all of them; `None` if they differ.
    shared: Option<(Status, u32)>,
}

impl Completed {
    /// The data of the progress row of `count` lanes.
    fn row(self, count: u32) -> [u32; 2] {
        let Self { done, shared, .. } = self;
        if count > MAX_LANES_WITH_SUMMARY {
            return [done as u32, (done >> 32) as u32];
        }
        let summary = shared.map_or(Summary::NONE, |(status, written)| {
            Summary::new(done.count_ones(), status, written)
        });
        [done as u32, summary.0]
    }
}

impl Warps {
    /// No warps in `slots` slots for up to `lanes` lanes.
    #[must_use]
    pub fn new(slots: u32, lanes: u32) -> Self {
        Self {
            lanes,
            slots: (0..slots).map(|_| Mutex::default()).collect(),
        }
    }

    /// The number of slots.
    pub(in crate::wire) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Notes the end of a lane, and passes the progress row to `publish`, before that of a later end
    /// and with whether this was the last lane.
    pub(in crate::wire) fn finish(
        &self,
        lane: LaneSlot,
        status: Status,
        written: u32,
        publish: impl FnOnce([u32; 2], bool),
    ) {
        let mut completed = lock(&self.slots[lane.slot as usize]);
        let end = Some((status, written));
        if completed.seq != lane.seq {
            *completed = Completed {
                seq: lane.seq,
                done: 0,
                shared: end,
            };
        } else if completed.shared != end {
            completed.shared = None;
        }
        completed.done |= 1 << lane.rank;
        let is_last = completed.done.count_ones() == lane.count;
        publish(completed.row(lane.count), is_last);
        if is_last {
            // The number may come again in the next cycle.
            *completed = Completed::default();
        }
    }
}
