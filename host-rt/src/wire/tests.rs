//! Every request is completed exactly once, even if it is dropped.

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::BLOCK;
use shared_abi::wire::gcc_ring::{GccRing, GccRingSlot};
use shared_abi::wire::gcc_slot::GccSlot;
use shared_abi::wire::gcn_queue::{CALL, GcnCall, GcnMessage, GcnQueue};
use shared_abi::wire::native::{
    PLACE_SLOT, RequestMeta, Summary, cell, next_seq, progress_offset, replies_offset, row_offset,
    slot_bytes, slot_offset,
};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::*;
use crate::base::env::Env;
use crate::device::{self, DeviceAddr, DeviceError, Fill};

/// The sequence number before the first, or the first ticket.
const SEQ: u32 = 7;

const SLOTS: u32 = 8;

const LANES: u32 = 4;

/// A wire whose only device thread and only host thread is the test.
struct TestWire {
    access: DeviceAccess,
    parts: WireParts,
    words: Coherent,
}

impl TestWire {
    fn new(kind: WireKind) -> Self {
        Self::starting_at(kind, SEQ)
    }

    fn starting_at(kind: WireKind, initial_seq: u32) -> Self {
        let kind = KINDS.iter().find(|known| known.kind == kind).unwrap();
        let device = device::open("host", &Env::read().unwrap()).unwrap();
        let config = WireConfig {
            slots: SLOTS,
            lanes: LANES,
            initial_seq,
        };
        let access = DeviceAccess {
            bounce: Arc::new(device.alloc_mapped(BLOCK).unwrap()),
            reserved: Arc::default(),
            device,
        };
        let memory = access.device.alloc_mapped((kind.bytes)(&config)).unwrap();
        let parts = (kind.attach)(memory, &config, &access);
        Self {
            // SAFETY: `parts` keeps the wire as long as the test uses its words.
            words: unsafe { parts.wire.detached_words() },
            access,
            parts,
        }
    }

    fn take(&mut self) -> Request {
        match self.parts.poller.poll_all() {
            Poll::Request(request) => request,
            _ => panic!("no request"),
        }
    }

    /// Writes a row of a request in slot 0 of a `native` wire.
    fn write_row(&self, lane: Lane, row: u32, data: u64) {
        let at = slot_offset(LANES, 0) + row_offset(row, lane.rank, lane.count);
        let cells = [data as u32, (data >> 32) as u32].map(|half| cell(half, lane.seq));
        self.words.store_pair(at, cells);
    }

    /// The rows of a request with an argument of 8 bytes in the slot: its value is `rank`.
    fn rows(lane: Lane) -> Vec<u64> {
        let meta = RequestMeta::new(lane.count, 6, false, 1);
        let tail = u64::from(MapKind::TOFROM.0) | u64::from(PLACE_SLOT) << 16;
        let func = 100 + u64::from(lane.rank);
        vec![meta.0.into(), func, 0, 8, tail, lane.rank.into()]
    }

    /// Publishes the requests of `count` lanes with that sequence number in slot 0 of a `native`
    /// wire, except for the last `missing` rows.
    fn publish_all(&self, seq: u32, count: u32, missing: usize) {
        let mut all: Vec<_> = (0..count)
            .flat_map(|rank| {
                let lane = Lane { seq, rank, count };
                let rows = Self::rows(lane).into_iter().enumerate();
                rows.map(move |(row, data)| (lane, row as u32, data))
            })
            .collect();
        all.truncate(all.len() - missing);
        for (lane, row, data) in all {
            self.write_row(lane, row, data);
        }
    }

    /// Publishes a request in slot 0 of a `native` wire.
    fn publish_native(&self) {
        self.publish_all(SEQ + 1, 1, 0);
    }

    /// The data of a row of the reply in slot 0, and its sequence number.
    fn reply_row(&self, lane: Lane, row: u32) -> ([u32; 2], u32) {
        let area = slot_offset(LANES, 0) + replies_offset(LANES);
        self.row_at(area + row_offset(row, lane.rank, lane.count))
    }

    /// The data of the row at `offset`, and its sequence number.
    fn row_at(&self, offset: usize) -> ([u32; 2], u32) {
        let pair = self.words.load_pair(offset);
        let seqs = pair.map(|cell| (cell >> 32) as u32);
        assert_eq!(seqs[0], seqs[1]);
        (pair.map(|cell| cell as u32), seqs[0])
    }

    /// Row 0 of the reply to the only request in slot 0.
    fn reply(&self) -> ([u32; 2], u32) {
        self.reply_row(ALONE, 0)
    }

    /// Publishes a call on a `gcn-queue`.
    fn publish_gcn(&self, signal: u64) {
        let message = offset_of!(GcnQueue, queue) + SEQ as usize * size_of::<GcnMessage>();
        let value = message + offset_of!(GcnMessage, value);
        self.words
            .store64(value + offset_of!(GcnCall, signal), signal, Store::Relaxed);
        let kind = message + offset_of!(GcnMessage, kind);
        self.words.store32(kind, CALL, Store::Relaxed);
        let written = message + offset_of!(GcnMessage, written);
        self.words.store32(written, 1, Store::Release);
        let drawn = offset_of!(GcnQueue, next_output);
        self.words.store32(drawn, SEQ + 1, Store::Relaxed);
    }
}

/// A lane whose request is in slot 0.
#[derive(Clone, Copy)]
struct Lane {
    seq: u32,
    rank: u32,
    count: u32,
}

/// The lane of the first request, which calls alone.
const ALONE: Lane = Lane {
    seq: SEQ + 1,
    rank: 0,
    count: 1,
};

/// Writes the argument of `request`.
fn write_argument(wire: &TestWire, request: &mut Request) {
    let mut copier = wire.access.copier();
    let mut args = Vec::new();
    request.read_args(&mut copier, 1, &mut args).unwrap();
    let range = ArgRange::in_arg(&args[0], args[0].addr, 8);
    // SAFETY: the range has 8 bytes, like the constant, which is static.
    unsafe { request.write(&mut copier, range, [1; 8].as_ptr()) }.unwrap();
    copier.finish().unwrap();
}

#[test]
fn a_dropped_request_of_native_fails() {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.publish_native();
    let mut request = wire.take();
    write_argument(&wire, &mut request);
    assert_eq!(wire.reply(), ([0; 2], 0));
    drop(request);
    let failed = [Status::FUNCTION_FAILED.0, 0];
    assert_eq!(
        wire.reply(),
        (failed, SEQ + 1),
        "the argument counts as written"
    );
}

#[test]
fn a_completed_request_is_not_failed_by_its_drop() {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.publish_native();
    let mut request = wire.take();
    write_argument(&wire, &mut request);
    let mut copier = wire.access.copier();
    request.complete(&mut copier, Status::DONE).unwrap();
    let done = [Status::DONE.0, 1];
    assert_eq!(wire.reply(), (done, SEQ + 1));
    assert_eq!(wire.reply_row(ALONE, 1), ([0x0101_0101; 2], SEQ + 1));
}

/// Completes requests of a warp in an order, and checks each reply when it is due.
fn complete_in(order: [usize; 3], statuses: [Status; 3]) {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.publish_all(SEQ + 1, 3, 0);
    let mut requests: Vec<_> = (0..3).map(|_| Some(wire.take())).collect();
    assert!(wire.parts.poller.poll_all().is_empty());
    let lane = |rank: usize| Lane {
        rank: rank as u32,
        count: 3,
        ..ALONE
    };
    let (mut done, mut shared) = (0, Some(statuses[order[0]]));
    for &rank in &order {
        let mut request = requests[rank].take().unwrap();
        assert_eq!(request.func(), 100 + rank as u64);
        write_argument(&wire, &mut request);
        let mut copier = wire.access.copier();
        let status = statuses[rank];
        request.complete(&mut copier, status).unwrap();
        let written = u32::from(status == Status::DONE);
        assert_eq!(
            wire.reply_row(lane(rank), 0),
            ([status.0, written], SEQ + 1)
        );
        assert_eq!(wire.reply_row(lane(rank), 1).1, SEQ + 1);
        done |= 1 << rank;
        shared = shared.filter(|shared| *shared == status);
        let summary = shared.map_or(Summary::NONE, |status| {
            Summary::new(u32::count_ones(done), status, written)
        });
        let progress = wire.row_at(progress_offset(LANES));
        assert_eq!(
            progress,
            ([done, summary.0], SEQ + 1),
            "{rank} of {order:?}"
        );
    }
}

#[test]
fn the_progress_of_a_warp_follows_the_replies_to_its_lanes() {
    let (done, failed) = (Status::DONE, Status::FUNCTION_FAILED);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        complete_in(order, [done; 3]);
        complete_in(order, [failed, done, done]);
        complete_in(order, [done, done, failed]);
    }
}

#[test]
fn a_request_is_taken_when_all_its_rows_have_arrived() {
    for missing in [1, 5, 6, 11] {
        let mut wire = TestWire::new(WireKind::NATIVE);
        wire.publish_all(SEQ + 1, 2, missing);
        assert!(matches!(wire.parts.poller.poll_all(), Poll::Incomplete));
        wire.publish_all(SEQ + 1, 2, 0);
        assert_eq!(wire.take().func(), 100);
        assert_eq!(wire.take().func(), 101);
    }
}

#[test]
fn an_incomplete_request_is_rejected_after_a_while() {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.publish_all(SEQ + 1, 2, 1);
    let error = loop {
        match wire.parts.poller.poll_all() {
            Poll::ProtocolError(error) => break error,
            found => assert!(matches!(found, Poll::Incomplete)),
        }
    };
    assert_eq!(error, ProtocolError::MissingRows { slot: 0 });
    // The caller learns it after the error was recorded.
    assert_eq!(wire.row_at(progress_offset(LANES)).1, 0);
    assert!(wire.parts.poller.poll_all().is_empty());
    let refused = [Status::REFUSED_MAPPING.0, 0];
    let lane = Lane { count: 2, ..ALONE };
    assert_eq!(wire.reply_row(lane, 0), (refused, SEQ + 1));
    let summary = Summary::new(2, Status::REFUSED_MAPPING, 0).0;
    let progress = wire.row_at(progress_offset(LANES));
    assert_eq!(progress, ([0b11, summary], SEQ + 1));
    // The slot works on.
    wire.publish_all(SEQ + 2, 1, 0);
    assert_eq!(wire.take().func(), 100);
}

/// A cell of an earlier cycle.
const STALE: u64 = cell(77, 5);

/// Cells that only the first cycle of sequence numbers has written do not complete a request of the
/// second.
#[test]
fn cells_before_the_wrap_are_not_taken_for_later_ones() {
    let last = u32::MAX;
    let mut wire = TestWire::starting_at(WireKind::NATIVE, last - 1);
    for at in (replies_offset(LANES)..slot_bytes(LANES)).step_by(8) {
        wire.words.store64(at, STALE, Store::Relaxed);
    }
    wire.publish_all(last, 3, 0);
    for _ in 0..3 {
        drop(wire.take());
    }
    let rank = |rank| Lane {
        seq: last,
        rank,
        count: 3,
    };
    let refused = [Status::FUNCTION_FAILED.0, 0];
    assert_eq!(wire.reply_row(rank(2), 0), (refused, last));
    assert_eq!(next_seq(last), 1);
    // The requests were cleared at the end, replies before the first one was written.
    for at in (0..replies_offset(LANES)).step_by(8) {
        assert_eq!(wire.words.load64(at, Load::Relaxed), 0);
    }
    for at in (replies_offset(LANES)..slot_bytes(LANES)).step_by(8) {
        assert_ne!(wire.words.load64(at, Load::Relaxed), STALE);
    }
    wire.publish_all(1, 3, 0);
    assert_eq!(wire.take().func(), 100);
}

#[test]
fn the_rest_of_a_range_that_is_written_in_parts_keeps_its_bytes() {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.write_row(ALONE, 5, 0x0807_0605_0403_0201);
    for (row, data) in TestWire::rows(ALONE).into_iter().enumerate().take(5) {
        wire.write_row(ALONE, row as u32, data);
    }
    let mut request = wire.take();
    let mut copier = wire.access.copier();
    let mut args = Vec::new();
    request.read_args(&mut copier, 1, &mut args).unwrap();
    for (skip, len) in [(5, 2), (1, 1)] {
        let range = ArgRange::in_arg(&args[0], skip, len);
        // SAFETY: the constant is static, and longer than the range.
        unsafe { request.write(&mut copier, range, [0xff; 8].as_ptr()) }.unwrap();
    }
    request.complete(&mut copier, Status::DONE).unwrap();
    let expected = [0x0403_ff01, 0x08ff_ff05];
    assert_eq!(wire.reply_row(ALONE, 1).0, expected);
}

#[test]
fn a_dropped_request_of_gcc_slot_is_completed() {
    let mut wire = TestWire::new(WireKind::GCC_SLOT);
    let func = offset_of!(GccSlot, func);
    wire.words.store64(func, 1, Store::Release);
    let request = wire.take();
    assert_ne!(wire.words.load64(func, Load::Relaxed), 0);
    drop(request);
    assert_eq!(wire.words.load64(func, Load::Relaxed), 0);
}

#[test]
fn a_dropped_request_with_a_signal_is_completed() {
    for kind in [WireKind::GCC_RING, WireKind::GCN_QUEUE] {
        let mut wire = TestWire::new(kind);
        let device = Arc::clone(&wire.access.device);
        let signal = device.alloc(4, Fill::Zeros).unwrap();
        if kind == WireKind::GCN_QUEUE {
            wire.publish_gcn(signal.0);
        } else {
            let slot = offset_of!(GccRing, queue) + SEQ as usize * size_of::<GccRingSlot>();
            let word = slot + offset_of!(GccRingSlot, signal);
            wire.words.store64(word, signal.0, Store::Release);
            let drawn = offset_of!(GccRing, next_slot);
            wire.words.store32(drawn, SEQ + 1, Store::Relaxed);
        }
        let mut queue = device.queue().unwrap();
        let mut read = || {
            let mut word = 0u32;
            // SAFETY: `word` has 4 bytes and is not used before `synchronize` returns.
            unsafe { queue.copy_from_device((&raw mut word).cast(), signal, 4) }.unwrap();
            queue.synchronize().unwrap();
            word
        };
        let request = wire.take();
        assert_eq!(read(), 0);
        drop(request);
        assert_eq!(read(), 1, "{kind:?}");
        device.free(signal);
    }
}

#[test]
fn a_dropped_request_that_is_answered_in_its_slot_is_completed() {
    let mut wire = TestWire::new(WireKind::GCN_QUEUE);
    wire.publish_gcn(0);
    let message = offset_of!(GcnQueue, queue) + SEQ as usize * size_of::<GcnMessage>();
    let written = message + offset_of!(GcnMessage, written);
    let request = wire.take();
    assert_eq!(wire.words.load32(written, Load::Relaxed), 1);
    drop(request);
    assert_eq!(wire.words.load32(written, Load::Relaxed), 0);
}

#[test]
fn only_memory_that_a_call_may_write_is_written_in_place() {
    let access = TestWire::new(WireKind::NATIVE).access;
    let address = access.device.alloc(4096, Fill::Zeros).unwrap();
    let copier = access.copier();
    let in_place = |address, writes| {
        let mut calls = 0;
        let mut access = |_: *mut u8| {
            calls += 1;
            0
        };
        let is_accessed = copier.in_place(address, 64, writes, &mut access);
        assert_eq!(calls, u32::from(is_accessed));
        is_accessed
    };
    assert!(in_place(address, true) && in_place(address, false));
    let reservation = access.reserved.reserve(DeviceAddr(address.0 + 32), 8);
    assert!(!in_place(address, true) && in_place(address, false));
    drop(reservation);
    assert!(in_place(address, true));
    // Not allocated.
    access.device.free(address);
    assert!(!in_place(address, true) && !in_place(address, false));
}

#[test]
fn only_memory_that_a_call_may_use_is_copied_on_the_device() {
    let access = TestWire::new(WireKind::NATIVE).access;
    let [buffer, data] = [1, 2].map(|_| access.device.alloc(4096, Fill::Zeros).unwrap());
    let copier = access.copier();
    let store = |to| {
        let started = copier.store_on_device(to, buffer, 64);
        started.map(|copied| copied.sync().unwrap()).is_ok()
    };
    assert!(store(data));
    let reservation = access.reserved.reserve(DeviceAddr(data.0 + 32), 8);
    assert!(!store(data));
    drop(reservation);
    assert!(store(data));
    // Not allocated, as a whole or at its end.
    assert!(!store(DeviceAddr(data.0 + 4096 - 32)));
    access.device.free(data);
    assert!(!store(data));
    for from in [data, DeviceAddr(u64::MAX - 8)] {
        let fetched = copier.fetch_on_device(buffer, from, 64);
        assert!(matches!(fetched, Err(DeviceError::Unreachable { .. })));
    }
}
