//! Taking requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_abi::status::Status;
use shared_abi::wire::claims;
use shared_abi::wire::native::{
    HEADER_ROWS, MAX_ARGS, RequestMeta, is_at_wrap, lane_rows, next_seq, slot_offset,
};
use shared_abi::words::{Load, SystemWords};

use super::words::Words;
use super::{LaneSlot, NativeRequest, Warps, end};
use crate::wire::{Poll, PollWire, ProtocolError};

/// Slots in a group, which is scanned as a whole: a claim group.
const GROUP: u32 = claims::GROUP;

/// Scans without a request after which a group is cold.
const COLD: u8 = 64;

/// Consecutive requests taken from one slot before the others are scanned.
const MAX_STREAK: u32 = 16;

/// Polls of one slot alone after a request from it, before the others are scanned: a lone caller is
/// served without reading the cache lines of the other slots.
const RECENT_POLLS: u32 = 8;

/// Time after which a request of which some rows are missing is rejected.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(1);

/// Finds published requests.
///
/// A caller that calls again uses the same slot, so the first `RECENT_POLLS` polls after a request
/// read only its slot. Later polls alternate between that slot and a scan of others: those of
/// warm groups, which had requests lately, then those of one cold group. Every scan continues after
/// the last request found, so that busy slots do not starve others.
///
/// The requests of the lanes of a slot are taken together, when all have arrived, and are then found
/// by one poll each.
#[derive(Debug)]
pub struct Poller<S> {
    words: Words<S>,
    warps: Arc<Warps>,
    /// Sequence number of the last request taken from each slot.
    last_seq: Vec<u32>,
    /// The next of the lanes whose requests were taken together.
    batch: Option<LaneSlot>,
    /// Slots with requests of which some rows are missing, and since when.
    incomplete: Vec<(u32, Instant)>,
    recent: Recent,
    groups: Vec<Group>,
    /// The group where the next scan begins.
    begin: usize,
    /// The cold group to scan next.
    cold: usize,
    /// Requests taken since the last scan of a cold group.
    since_cold: u32,
}

/// The slot that was served last.
#[derive(Clone, Copy, Debug)]
struct Recent {
    slot: u32,
    /// Requests taken from it since the last scan of the others.
    streak: u32,
    /// Remaining polls of it alone.
    polls: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// Scans since the last request, up to [`COLD`].
    empty: u8,
    /// The slot in the group where the next scan begins.
    begin: u32,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system`, with slots for `warps`. The last sequence number of each slot
    /// is `seq`.
    pub fn new(system: S, warps: Arc<Warps>, seq: u32) -> Self {
        let slots = warps.slots();
        Self {
            words: Words {
                system,
                lanes: warps.lanes,
            },
            warps,
            last_seq: vec![seq; slots],
            batch: None,
            incomplete: Vec::new(),
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
                slots.div_ceil(GROUP as usize)
            ],
            begin: 0,
            cold: 0,
            since_cold: 0,
        }
    }

    /// Takes a request. It may miss one at first; one of the next polls finds it.
    pub fn poll(&mut self) -> Poll<NativeRequest> {
        if let Some(lane) = self.batch {
            return self.next_of_batch(lane);
        }
        let Recent {
            slot,
            streak,
            polls,
        } = self.recent;
        if streak < MAX_STREAK && polls > 0 {
            let found = self.take(slot);
            let taken = !found.is_empty();
            self.recent.polls = if taken { RECENT_POLLS } else { polls - 1 };
            self.recent.streak += u32::from(taken);
            return found;
        }
        self.recent = Recent {
            slot,
            streak: 0,
            polls: 1,
        };
        // Warm groups may have a request at every poll.
        if self.since_cold >= MAX_STREAK
            && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan_cold()
        {
            return found;
        }
        let count = self.groups.len();
        for i in 0..count {
            let group = (self.begin + i) % count;
            if self.groups[group].empty < COLD
                && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group)
            {
                self.begin = group + 1;
                self.since_cold += 1;
                return found;
            }
        }
        self.scan_cold()
    }

    fn scan_cold(&mut self) -> Poll<NativeRequest> {
        self.since_cold = 0;
        self.cold = (self.cold + 1) % self.groups.len();
        if self.groups[self.cold].empty < COLD {
            Poll::Empty
        } else {
            self.scan(self.cold)
        }
    }

    /// Like [`poll`](Self::poll), but reads every slot. After a fence, it finds every request whose
    /// publisher has passed its own fence, which follows the request.
    pub fn poll_all(&mut self) -> Poll<NativeRequest> {
        if let Some(lane) = self.batch {
            return self.next_of_batch(lane);
        }
        for group in 0..self.groups.len() {
            if let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group) {
                return found;
            }
        }
        if self.incomplete.is_empty() {
            Poll::Empty
        } else {
            Poll::Incomplete
        }
    }

    fn scan(&mut self, group: usize) -> Poll<NativeRequest> {
        let first = group as u32 * GROUP;
        let count = GROUP.min(self.last_seq.len() as u32 - first);
        let begin = self.groups[group].begin;
        for i in (begin..count).chain(0..begin) {
            let slot = first + i;
            if let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.take(slot) {
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

    /// Takes the new requests of the lanes of `slot`, and returns the first.
    #[inline]
    fn take(&mut self, slot: u32) -> Poll<NativeRequest> {
        let at = slot_offset(self.words.lanes, slot);
        // Relaxed: each cell carries its sequence number.
        let seq = (self.words.system.load64(at, Load::Relaxed) >> 32) as u32;
        let last = self.last_seq[slot as usize];
        // New memory is zeroed.
        if seq == last || seq == 0 {
            return Poll::Empty;
        }
        let expected = next_seq(last);
        let mut lane = LaneSlot {
            slot,
            seq,
            rank: 0,
            count: 1,
        };
        if seq != expected {
            let found = seq;
            return self.reject(
                lane,
                ProtocolError::Sequence {
                    slot,
                    found,
                    expected,
                },
            );
        }
        if is_at_wrap(seq) {
            // Edge `N1`, consuming end: another thread may have cleared the slot.
            self.words.system.acquire_fence();
        }
        let Some([meta, _]) = self.words.arrived(lane, 0) else {
            return self.wait_for_rows(lane);
        };
        lane.count = RequestMeta(meta).lanes();
        if lane.count > self.words.lanes {
            let (found, max) = (lane.count, self.words.lanes);
            return self.reject(lane, ProtocolError::Lanes { slot, found, max });
        }
        for rank in 0..lane.count {
            match self.rows_arrived(LaneSlot { rank, ..lane }) {
                Ok(true) => {}
                Ok(false) => return self.wait_for_rows(lane),
                Err(error) => return self.reject(lane, error),
            }
        }
        self.last_seq[slot as usize] = seq;
        if !self.incomplete.is_empty() {
            self.incomplete.retain(|(other, _)| *other != slot);
        }
        // Edge `N1`, consuming end: what the lanes wrote elsewhere precedes their cells.
        self.words.system.acquire_fence();
        if seq == u32::MAX {
            // No cell of this cycle may look like one of the next.
            self.words.clear_replies(slot);
        }
        if lane.count > 1 {
            self.warps.begin(slot);
        }
        self.next_of_batch(lane)
    }

    /// Whether all rows of a lane's request have arrived.
    #[inline]
    fn rows_arrived(&self, lane: LaneSlot) -> Result<bool, ProtocolError> {
        let Some([meta, _]) = self.words.arrived(lane, 0) else {
            return Ok(false);
        };
        let meta = RequestMeta(meta);
        let (rows, max) = (meta.rows(), lane_rows(self.words.lanes, lane.count));
        let min = HEADER_ROWS + u32::from(meta.has_extent());
        if !(min..=max).contains(&rows) {
            return Err(ProtocolError::Rows {
                slot: lane.slot,
                found: rows,
                min,
                max,
            });
        }
        Ok((1..rows).all(|row| self.words.arrived(lane, row).is_some()))
    }

    /// The request of a lane, all of whose rows have arrived.
    #[inline]
    fn next_of_batch(&mut self, lane: LaneSlot) -> Poll<NativeRequest> {
        let next = lane.rank + 1;
        self.batch = (next < lane.count).then_some(LaneSlot { rank: next, ..lane });
        let header = self.words.request_data(lane, 0);
        let meta = RequestMeta(header as u32);
        let extent = if meta.has_extent() {
            self.words.request_data(lane, HEADER_ROWS)
        } else {
            0
        };
        Poll::Request(NativeRequest {
            lane,
            func: self.words.request_data(lane, 1),
            meta,
            launch: (header >> 32) as u32,
            bounce_first: extent as u32,
            bounce_blocks: (extent >> 32) as u32,
        })
    }

    /// Rejects the requests in a slot.
    #[cold]
    fn reject(&mut self, lane: LaneSlot, error: ProtocolError) -> Poll<NativeRequest> {
        self.last_seq[lane.slot as usize] = lane.seq;
        self.incomplete.retain(|(slot, _)| *slot != lane.slot);
        // The lanes wait for replies, as many as they say if that is possible.
        let meta = self.words.arrived(lane, 0);
        let count = meta.map_or(1, |[meta, _]| RequestMeta(meta).lanes());
        let count = if count > self.words.lanes { 1 } else { count };
        self.warps.begin(lane.slot);
        for rank in 0..count {
            let lane = LaneSlot {
                rank,
                count,
                ..lane
            };
            // Any number of arguments is possible.
            let (words, status) = (&self.words, Status::REFUSED_MAPPING);
            end(words, &self.warps, lane, MAX_ARGS, status, 0);
        }
        Poll::ProtocolError(error)
    }

    /// Waits for the missing rows of the requests in a slot, but not forever.
    #[cold]
    fn wait_for_rows(&mut self, lane: LaneSlot) -> Poll<NativeRequest> {
        let slot = lane.slot;
        match self.incomplete.iter().find(|(other, _)| *other == slot) {
            None => self.incomplete.push((slot, Instant::now())),
            Some((_, since)) if since.elapsed() > ARRIVAL_LIMIT => {
                return self.reject(lane, ProtocolError::MissingRows { slot });
            }
            Some(_) => {}
        }
        Poll::Incomplete
    }
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = NativeRequest;

    fn poll(&mut self) -> Poll<NativeRequest> {
        Poller::poll(self)
    }

    fn poll_all(&mut self) -> Poll<NativeRequest> {
        Poller::poll_all(self)
    }
}
