//! Taking requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_abi::status::Status;
use shared_abi::wire::claims;
use shared_abi::wire::native::{
    HEADER_ROWS, MAX_ARGS, MAX_ROWS, MAX_ROWS_TOGETHER, RequestMeta, is_at_wrap, next_seq,
    slot_offset,
};
use shared_abi::words::{Load, SystemWords};

use super::words::Words;
use super::{LaneSlot, NativeRequest, Warps, reply};
use crate::wire::{Poll, PollWire, ProtocolError};

/// Slots in a group, which is scanned as a whole: a claim group.
const GROUP: u32 = claims::GROUP;

/// Scans without a request after which a group is cold.
const COLD: u8 = 64;

/// Consecutive requests taken from one slot before the others are scanned.
const MAX_STREAK: u32 = 16;

/// Polls of one slot alone after a request from it, before the others are scanned: a lone caller is
/// served without reading the cache lines of the other slots.
const RECENT_POLLS: u32 = 32;

/// Time and polls without another row after which a request of which some rows are missing is
/// rejected. The polls give a device time that was stopped together with the host.
const ARRIVAL_LIMIT: (Duration, u32) = (Duration::from_secs(2), 1000);

/// Finds published requests.
///
/// A caller that calls again uses the same slot, so the first `RECENT_POLLS` polls after a request
/// read only its slot. Later polls alternate between that slot and a scan of others: the busy slots
/// of warm groups, which had requests lately, then all slots of one group. Every scan continues after
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
    /// The slot whose requests the last poll rejected.
    rejected: Option<LaneSlot>,
    /// The requests of each slot of which some rows are missing.
    arrivals: Vec<Option<Arrival>>,
    /// The number of these.
    incomplete: u32,
    recent: Recent,
    groups: Vec<Group>,
    /// The group where the next scan begins.
    begin: usize,
    /// The group to scan completely next.
    complete: usize,
    /// Requests taken since the last such scan.
    since_complete: u32,
}

/// Requests in a slot of which some rows are missing.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    seq: u32,
    /// The first missing row, and the lane.
    rank: u32,
    row: u32,
    /// When it was first missed, and the polls since then.
    since: Instant,
    polls: u32,
}

/// The slot that was served last.
#[derive(Clone, Copy, Debug)]
struct Recent {
    slot: u32,
    /// Requests taken from it since the last scan of the others.
    streak: u32,
    /// Remaining polls of it alone.
    polls: u32,
    /// Rows of the last request from it.
    rows: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// The slots that had a request since the group was cold, one bit each.
    busy: u32,
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
            rejected: None,
            arrivals: vec![None; slots],
            incomplete: 0,
            recent: Recent {
                slot: 0,
                streak: 0,
                polls: 1,
                rows: 0,
            },
            groups: vec![
                Group {
                    busy: 0,
                    empty: COLD,
                    begin: 0
                };
                slots.div_ceil(GROUP as usize)
            ],
            begin: 0,
            complete: 0,
            since_complete: 0,
        }
    }

    /// Takes a request. It may miss one at first; one of the next polls finds it.
    pub fn poll(&mut self) -> Poll<NativeRequest> {
        if let Some(found) = self.poll_rest() {
            return found;
        }
        let Recent {
            slot,
            streak,
            polls,
            rows,
        } = self.recent;
        if streak < MAX_STREAK && polls > 0 {
            self.words.prefetch_request(slot, rows);
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
            rows,
        };
        // Warm groups may have a request at every poll.
        if self.since_complete >= MAX_STREAK
            && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan_next()
        {
            return found;
        }
        let count = self.groups.len();
        for group in (self.begin..count).chain(0..self.begin) {
            let Group { busy, empty, .. } = self.groups[group];
            if empty < COLD
                && let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group, busy)
            {
                self.begin = if group + 1 == count { 0 } else { group + 1 };
                self.since_complete += 1;
                return found;
            }
        }
        self.scan_next()
    }

    /// Ends what the last poll began: a rejection, or requests that were taken together.
    #[inline]
    fn poll_rest(&mut self) -> Option<Poll<NativeRequest>> {
        if let Some(lane) = self.rejected.take() {
            self.complete_rejected(lane);
        }
        self.batch.map(|lane| self.next_of_batch(lane))
    }

    /// Scans the next group completely.
    fn scan_next(&mut self) -> Poll<NativeRequest> {
        self.since_complete = 0;
        self.complete = (self.complete + 1) % self.groups.len();
        self.scan(self.complete, u32::MAX)
    }

    /// Like [`poll`](Self::poll), but reads every slot. After a fence, it finds every request whose
    /// publisher has passed its own fence, which follows the request.
    pub fn poll_all(&mut self) -> Poll<NativeRequest> {
        if let Some(found) = self.poll_rest() {
            return found;
        }
        for group in 0..self.groups.len() {
            if let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.scan(group, u32::MAX)
            {
                return found;
            }
        }
        if self.incomplete == 0 {
            Poll::Empty
        } else {
            Poll::Incomplete
        }
    }

    /// Scans those of a group's slots whose bits are set.
    fn scan(&mut self, group: usize, slots: u32) -> Poll<NativeRequest> {
        let first = group as u32 * GROUP;
        let count = GROUP.min(self.last_seq.len() as u32 - first);
        let begin = self.groups[group].begin;
        let present = ((1u64 << count) - 1) as u32 & slots;
        let mut rest = present.rotate_right(begin);
        while rest != 0 {
            let i = (begin + rest.trailing_zeros()) % GROUP;
            rest &= rest - 1;
            let slot = first + i;
            if let found @ (Poll::Request(_) | Poll::ProtocolError(_)) = self.take(slot) {
                let group = &mut self.groups[group];
                group.busy |= 1 << i;
                group.empty = 0;
                group.begin = (i + 1) % GROUP;
                self.recent = Recent {
                    slot,
                    streak: 0,
                    polls: 1,
                    rows: self.recent.rows,
                };
                return found;
            }
        }
        let group = &mut self.groups[group];
        group.empty = (group.empty + 1).min(COLD);
        if group.empty == COLD {
            group.busy = 0;
        }
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
        self.take_new(slot, seq)
    }

    /// Takes the requests of the lanes of `slot`, whose sequence number `seq` is new.
    fn take_new(&mut self, slot: u32, seq: u32) -> Poll<NativeRequest> {
        let expected = next_seq(self.last_seq[slot as usize]);
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
            return self.wait_for_row(lane, (0, 0));
        };
        lane.count = RequestMeta(meta).lanes();
        if lane.count > self.words.lanes {
            let (found, max) = (lane.count, self.words.lanes);
            return self.reject(lane, ProtocolError::Lanes { slot, found, max });
        }
        match self.missing_row(lane) {
            Ok(None) => {}
            Ok(Some(missing)) => return self.wait_for_row(lane, missing),
            Err(error) => return self.reject(lane, error),
        }
        self.consume(lane);
        // Edge `N1`, consuming end: what the lanes wrote elsewhere precedes their cells.
        self.words.system.acquire_fence();
        self.next_of_batch(lane)
    }

    /// The first row that has not arrived, and its lane.
    #[inline]
    fn missing_row(&self, lane: LaneSlot) -> Result<Option<(u32, u32)>, ProtocolError> {
        let arrival = self.arrivals[lane.slot as usize].filter(|arrival| arrival.seq == lane.seq);
        let (first, mut row) = arrival.map_or((0, 0), |arrival| (arrival.rank, arrival.row));
        for rank in first..lane.count {
            let lane = LaneSlot { rank, ..lane };
            let Some([meta, _]) = self.words.arrived(lane, 0) else {
                return Ok(Some((rank, 0)));
            };
            let meta = RequestMeta(meta);
            let (rows, min) = (meta.rows(), HEADER_ROWS + u32::from(meta.has_extent()));
            let max = max_rows(lane.count);
            if !(min..=max).contains(&rows) {
                return Err(ProtocolError::Rows {
                    slot: lane.slot,
                    found: rows,
                    min,
                    max,
                });
            }
            while row < rows {
                if self.words.arrived(lane, row).is_none() {
                    return Ok(Some((rank, row)));
                }
                row += 1;
            }
            row = 0;
        }
        Ok(None)
    }

    /// Notes that the requests in a slot are taken or rejected.
    #[inline]
    fn consume(&mut self, lane: LaneSlot) {
        self.last_seq[lane.slot as usize] = lane.seq;
        if self.incomplete > 0 && self.arrivals[lane.slot as usize].take().is_some() {
            self.incomplete -= 1;
        }
        if is_at_wrap(lane.seq) {
            // No cell of an earlier cycle may look like one of this one.
            self.words.clear_replies(lane.slot);
        }
    }

    /// The request of a lane, all of whose rows have arrived.
    #[inline]
    fn next_of_batch(&mut self, lane: LaneSlot) -> Poll<NativeRequest> {
        let next = lane.rank + 1;
        self.batch = (next < lane.count).then_some(LaneSlot { rank: next, ..lane });
        // Loaded again, since the rows arrived one by one. Whatever the words are now, each of their
        // uses is checked: rows and places are limited to those of the lane in `read_args`.
        let header = self.words.request_data(lane, 0);
        let meta = RequestMeta(header as u32);
        self.recent.rows = meta.rows();
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

    /// Rejects the requests in a slot. The next poll completes them, so that the error is recorded
    /// before their kernel can end.
    #[cold]
    fn reject(&mut self, lane: LaneSlot, error: ProtocolError) -> Poll<NativeRequest> {
        self.consume(lane);
        self.rejected = Some(lane);
        Poll::ProtocolError(error)
    }

    /// Completes the rejected requests in a slot.
    #[cold]
    fn complete_rejected(&mut self, lane: LaneSlot) {
        // The lanes wait for replies, as many as they say if that is possible. Without a number,
        // there may be one lane or several, which poll different rows.
        let meta = self.words.arrived(lane, 0);
        // Once, before the first reply: with any of them the device may own the slot.
        self.words.clear_at_wrap(lane);
        match meta.map(|[meta, _]| RequestMeta(meta).lanes()) {
            Some(count) if count <= self.words.lanes => self.refuse(lane, count),
            _ => {
                self.refuse(lane, 1);
                if self.words.lanes > 1 {
                    self.refuse(lane, self.words.lanes);
                }
            }
        }
    }

    /// Completes the requests of `count` lanes in a slot as refused.
    fn refuse(&self, lane: LaneSlot, count: u32) {
        for rank in 0..count {
            let lane = LaneSlot {
                rank,
                count,
                ..lane
            };
            // Any number of arguments is possible.
            let end = (Status::REFUSED_MAPPING, 0);
            reply(&self.words, &self.warps, lane, MAX_ARGS, end, || {});
        }
    }

    /// Waits for a missing row of the requests in a slot, but not forever.
    #[cold]
    fn wait_for_row(&mut self, lane: LaneSlot, (rank, row): (u32, u32)) -> Poll<NativeRequest> {
        let slot = lane.slot;
        let arrival = &mut self.arrivals[slot as usize];
        match arrival {
            Some(Arrival {
                seq,
                rank: known_rank,
                row: known_row,
                since,
                polls,
            }) if (*seq, *known_rank, *known_row) == (lane.seq, rank, row) => {
                *polls = polls.saturating_add(1);
                let (time, least) = ARRIVAL_LIMIT;
                if *polls > least && since.elapsed() > time {
                    return self.reject(lane, ProtocolError::MissingRows { slot });
                }
            }
            _ => {
                self.incomplete += u32::from(arrival.is_none());
                *arrival = Some(Arrival {
                    seq: lane.seq,
                    rank,
                    row,
                    since: Instant::now(),
                    polls: 0,
                });
            }
        }
        Poll::Incomplete
    }
}

/// Maximum rows of each of `count` lanes' requests.
const fn max_rows(count: u32) -> u32 {
    if count == 1 {
        MAX_ROWS
    } else {
        MAX_ROWS_TOGETHER
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

    fn has_ready(&self) -> bool {
        self.batch.is_some()
    }
}
