//! The arithmetic of slots, rows, blocks, tickets and sequence numbers, compared with numbers that do
//! not wrap: every case where there are few, and otherwise those near each boundary.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::offset_of;
use std::rc::Rc;

use revoff_device::bounce::{self as bounce_claims, Extent, blocks_for};
use revoff_device::claims::{self as slot_claims, Claim};
use revoff_device::wire::{gcc_ring as ring_producer, gcn_queue as queue_producer};
use revoff_host::model::{Poll, gcc_ring, gcn_queue};
use shared_abi::status::Status;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::claims::{self, ClaimGroup, GROUP};
use shared_abi::wire::gcc_ring::{GccRing, GccRingSlot};
use shared_abi::wire::gcn_queue::{GcnCall, GcnQueue};
use shared_abi::wire::native::*;
use shared_abi::words::{DeviceWords, Load, Store, SystemWords, TicketWord};

const WRAP: u128 = 1 << 32;

/// Words of 4 bytes, 0 at first, of one thread.
#[derive(Clone, Default)]
struct Words {
    words: Rc<RefCell<HashMap<usize, u32>>>,
    start: usize,
}

impl Words {
    fn get(&self, at: usize) -> u32 {
        assert!((self.start + at).is_multiple_of(4));
        let words = self.words.borrow();
        words.get(&(self.start + at)).copied().unwrap_or(0)
    }

    fn set(&self, at: usize, value: u32) -> u32 {
        assert!((self.start + at).is_multiple_of(4));
        let mut words = self.words.borrow_mut();
        words.insert(self.start + at, value).unwrap_or(0)
    }
}

impl SystemWords for Words {
    fn at_offset(&self, at: usize) -> Self {
        Self {
            start: self.start + at,
            ..self.clone()
        }
    }

    fn load32(&self, at: usize, _: Load) -> u32 {
        self.get(at)
    }

    fn store32(&self, at: usize, value: u32, _: Store) {
        self.set(at, value);
    }

    fn load64(&self, at: usize, _: Load) -> u64 {
        u64::from(self.get(at)) | u64::from(self.get(at + 4)) << 32
    }

    fn store64(&self, at: usize, value: u64, _: Store) {
        self.set(at, value as u32);
        self.set(at + 4, (value >> 32) as u32);
    }

    fn fence(&self) {}
    fn release_fence(&self) {}
    fn acquire_fence(&self) {}

    fn load8(&self, _: usize) -> u8 {
        unreachable!("no model has bytes")
    }

    fn store8(&self, _: usize, _: u8) {
        unreachable!("no model has bytes")
    }
}

impl DeviceWords for Words {
    fn load32(&self, at: usize, _: Load) -> u32 {
        self.get(at)
    }

    fn store32(&self, at: usize, value: u32, _: Store) {
        self.set(at, value);
    }

    fn fetch_or_acquire(&self, at: usize, mask: u32) -> u32 {
        self.set(at, self.get(at) | mask)
    }

    fn fetch_and_release(&self, at: usize, mask: u32) -> u32 {
        self.set(at, self.get(at) & mask)
    }
}

impl TicketWord for Words {
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32 {
        let sum = (u128::from(self.get(at)) + u128::from(n)) % WRAP;
        self.set(at, sum as u32)
    }
}

/// Numbers of 32 bits near each power of two, 0 and the largest.
fn boundaries() -> Vec<u32> {
    let near = |bit: u32| (-2..=2).map(move |by| (1i64 << bit) + by);
    let mut all: Vec<_> = (0..=32)
        .flat_map(near)
        .filter_map(|number| u32::try_from(number).ok())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The numbers around the wrap of 32 bits, as numbers that do not wrap.
fn around_the_wrap(by: u128) -> impl Iterator<Item = u128> {
    WRAP - by..=WRAP + by
}

fn no_pause(_: u32) {
    panic!("nothing is free");
}

#[test]
fn sequence_numbers_skip_zero() {
    // The n-th number of a slot, counted from the last 0.
    let number = |n: u128| (1 + (n - 1) % (WRAP - 1)) as u32;
    let near = boundaries().into_iter().map(u128::from);
    let windows = around_the_wrap(1 << 16).chain(near.filter(|&n| n > 0));
    for n in windows {
        let (seq, next) = (number(n), number(n + 1));
        assert_eq!(next_seq(seq), next);
        assert!(next != 0 && next != seq);
        assert_eq!(is_at_wrap(seq), seq == u32::MAX || seq == 1);
    }
    assert!(is_at_wrap(0), "of new memory");
    assert_eq!(next_seq(0), 1);
}

#[test]
fn cells_are_those_of_one_number() {
    let (all, data) = (boundaries(), [0, 1, u32::MAX, 0x8000_0000, 0x1234_5678]);
    for &seq in &all {
        for data in data {
            let expected = u128::from(data) + WRAP * u128::from(seq);
            assert_eq!(u128::from(cell(data, seq)), expected);
            for &other in &all {
                let found = (seq == other).then_some(data);
                assert_eq!(cell_data(cell(data, seq), other), found);
            }
        }
    }
}

#[test]
fn shapes_of_requests_are_read_as_written() {
    let mapnums: Vec<_> = boundaries()
        .into_iter()
        .filter(|&n| n <= MAX_ARGS)
        .collect();
    for lanes in 1..=MAX_LANES {
        for rows in 1..=MAX_ROWS {
            for has_extent in [false, true] {
                for &mapnum in &mapnums {
                    let meta = RequestMeta::new(lanes, rows, has_extent, mapnum);
                    let read = (meta.lanes(), meta.rows(), meta.has_extent(), meta.mapnum());
                    assert_eq!(read, (lanes, rows, has_extent, mapnum));
                }
            }
        }
    }
}

#[test]
fn summaries_are_exact_or_none() {
    for count in 1..=MAX_LANES_WITH_SUMMARY {
        for status in (0..=256).chain(boundaries()) {
            for written in boundaries() {
                let summary = Summary::new(count, Status(status), written);
                let fits = status < 256 && written < 1 << 16;
                assert_eq!(summary != Summary::NONE, fits);
                for other in 1..=MAX_LANES {
                    assert_eq!(summary.applies_to(other), fits && other == count);
                }
                if fits {
                    assert_eq!((summary.status().0, summary.written()), (status, written));
                }
            }
        }
    }
}

#[test]
fn rows_of_a_slot_do_not_overlap() {
    for lanes in 1..=MAX_LANES {
        let rows_of_area = u128::from(MAX_ROWS.max(lanes * MAX_ROWS_TOGETHER));
        let area = rows_of_area * ROW as u128;
        assert_eq!(area_bytes(lanes) as u128, area);
        assert_eq!(replies_offset(lanes) as u128, area);
        assert_eq!(progress_offset(lanes) as u128, 2 * area);
        let slot = 2 * area + PROGRESS_BYTES as u128;
        assert_eq!(slot_bytes(lanes) as u128, slot);
        for number in boundaries() {
            assert_eq!(
                slot_offset(lanes, number) as u128,
                slot * u128::from(number)
            );
            assert_eq!(size(number, lanes) as u128, slot * u128::from(number));
        }
        for count in 1..=lanes {
            let rows = lane_rows(lanes, count);
            assert_eq!(u128::from(rows), rows_of_area / u128::from(count));
            // Those of a request or a reply: see `MAX_ROWS`.
            let used = if count == 1 {
                MAX_ROWS
            } else {
                MAX_ROWS_TOGETHER
            };
            assert!(rows >= used, "{lanes} lanes have no room for {count}");
            let mut is_used = vec![false; rows_of_area as usize];
            for row in 0..rows {
                for rank in 0..count {
                    let at = row_offset(row, rank, count);
                    assert!(at.is_multiple_of(ROW) && (at + ROW) as u128 <= area);
                    assert!(!std::mem::replace(&mut is_used[at / ROW], true));
                }
            }
        }
    }
}

#[test]
fn words_of_claims_do_not_overlap() {
    for number in boundaries() {
        let (group, bit) = claim_of(number);
        assert_eq!(group * GROUP + bit, number);
        assert!(bit < GROUP);
        let groups = u128::from(number).div_ceil(32);
        assert_eq!(u128::from(claims::groups(number)), groups);
        let header = 128;
        assert_eq!(
            claims::group_offset(group) as u128,
            header + 256 * u128::from(group)
        );
        for blocks in boundaries() {
            let end = header + 256 * groups + 4 * u128::from(blocks).div_ceil(32);
            assert_eq!(claims::size(number, blocks) as u128, end);
            assert_eq!(
                claims::bounce_offset(number, blocks) as u128,
                header + 256 * groups + 4 * u128::from(blocks)
            );
        }
    }
}

#[test]
fn a_slot_is_claimed_once_with_its_next_number() {
    let taken_at = |group| claims::group_offset(group) + offset_of!(ClaimGroup, taken);
    for slots in [1, 2, 4, 8, 16, 32, 64, 128] {
        for home in (0..4).chain([u32::MAX - 1, u32::MAX]) {
            for seq in [0, 1, 7, u32::MAX - 1, u32::MAX] {
                let words = Words::default();
                for group in 0..claims::groups(slots) {
                    let bits = u64::from(slots - group * GROUP).min(32);
                    words.set(taken_at(group), !(((1u64 << bits) - 1) as u32));
                    for bit in 0..GROUP as usize {
                        let seqs = offset_of!(ClaimGroup, seqs) + 4 * bit;
                        words.set(claims::group_offset(group) + seqs, seq);
                    }
                }
                let mut owned = vec![false; slots as usize];
                for _ in 0..slots {
                    let claim = slot_claims::take(&words, slots, home, no_pause);
                    assert_eq!(claim.seq, next_seq(seq));
                    assert!(!std::mem::replace(&mut owned[claim.slot as usize], true));
                }
                // Any slot that is freed is the next one, with the number after.
                for slot in 0..slots {
                    let seq = next_seq(seq);
                    slot_claims::release(&words, Claim { slot, seq });
                    let claim = slot_claims::take(&words, slots, home, no_pause);
                    assert_eq!((claim.slot, claim.seq), (slot, next_seq(seq)));
                }
            }
        }
    }
}

#[test]
fn extents_are_the_lowest_free_blocks_of_a_word() {
    const SLOTS: u32 = 4;
    let [first, second] = [0, 1].map(|word| claims::bounce_offset(SLOTS, word));
    let words = Words::default();
    let low = (0..1u32 << 16).step_by(7);
    let patterns = low.flat_map(|bits| [bits, bits << 16, bits | bits << 16, !bits, !(bits << 16)]);
    for taken in patterns.chain(boundaries()) {
        for blocks in 1..=MAX_EXTENT {
            words.set(first, taken);
            words.set(second, 0);
            let extent = bounce_claims::claim(&words, SLOTS, 2 * GROUP, blocks, 0, no_pause);
            // Position by position, in numbers of 128 bits.
            let mask = (1u128 << blocks) - 1;
            let mut shifts = 0..=32 - blocks;
            let free = shifts.find(|shift| (mask << shift) & u128::from(taken) == 0);
            let (at, before, shift) = match free {
                Some(shift) => (first, taken, shift),
                None => (second, 0, 0),
            };
            let expected = if at == first { shift } else { GROUP };
            assert_eq!((extent.first, extent.blocks), (expected, blocks));
            let now = u128::from(before) | mask << shift;
            assert_eq!(
                u128::from(words.get(at)),
                now,
                "{taken:#x}, {blocks} blocks"
            );
            assert_eq!(extent.offset(), expected as usize * BLOCK);
            bounce_claims::release(&words, SLOTS, extent);
            assert_eq!((words.get(first), words.get(second)), (taken, 0));
        }
    }
}

#[test]
fn extents_lie_in_their_area() {
    for words_of_area in [1, 2, 3, 31, 32, 33, 1000, u32::MAX / GROUP] {
        let area = words_of_area * GROUP;
        for home in boundaries() {
            let words = Words::default();
            let extent = bounce_claims::claim(&words, 1, area, MAX_EXTENT, home, no_pause);
            let spread = u128::from(home) * 0x9e37_79b9 % WRAP;
            let word = spread * u128::from(words_of_area) / WRAP;
            assert_eq!(u128::from(extent.first), 32 * word);
            assert!(u128::from(extent.first) + 32 <= u128::from(area));
            assert_eq!(extent.offset() as u128, 32 * word * BLOCK as u128);
            let at = claims::bounce_offset(1, word as u32);
            assert_eq!(words.get(at), u32::MAX);
            if words_of_area > 1 {
                // The search goes on at the next word, or at the first one.
                let next = bounce_claims::claim(&words, 1, area, MAX_EXTENT, home, no_pause);
                let expected = 32 * ((word + 1) % u128::from(words_of_area));
                assert_eq!(u128::from(next.first), expected);
            }
            bounce_claims::release(&words, 1, extent);
            assert_eq!(words.get(at), 0);
        }
    }
    bounce_claims::release(&Words::default(), 1, Extent::NONE);
}

#[test]
fn blocks_suffice_for_their_bytes() {
    let near = (0..=34u64).flat_map(|blocks| (0..3).map(move |by| blocks * BLOCK as u64 + by));
    let sizes = near.filter_map(|bytes| u32::try_from(bytes.saturating_sub(1)).ok());
    for bytes in sizes.chain(boundaries()) {
        let needed = u128::from(bytes).div_ceil(BLOCK as u128);
        for area in boundaries() {
            let fits = needed <= 32 && needed <= u128::from(area);
            let blocks = blocks_for(bytes, area).map(u128::from);
            assert_eq!(blocks, fits.then_some(needed), "{bytes} of {area} blocks");
        }
    }
}

/// A device thread waits for its slot exactly as long as the ticket of the lap before is not consumed.
#[test]
fn tickets_wait_for_the_lap_before() {
    type Offsets = (usize, usize);
    let ring: Offsets = (
        offset_of!(GccRing, next_slot),
        offset_of!(GccRing, consumed),
    );
    let queue: Offsets = (
        offset_of!(GcnQueue, next_output),
        offset_of!(GcnQueue, consumed),
    );
    for slots in [1u32, 2, 4, 1024] {
        for consumed in around_the_wrap(6) {
            // Other threads may have consumed more than this ticket meanwhile.
            let aheads = (-3i128..=3).chain(i128::from(slots) - 2..=i128::from(slots) + 2);
            for ahead in aheads {
                let ticket = consumed.checked_add_signed(ahead).expect("near 2^32");
                let must_wait = ahead >= i128::from(slots);
                for (is_ring, (next, counter)) in [(true, ring), (false, queue)] {
                    let words = Words::default();
                    words.set(next, ticket as u32);
                    words.set(counter, consumed as u32);
                    let waits = Cell::new(0);
                    let pause = |_| {
                        waits.set(waits.get() + 1);
                        assert!(waits.get() <= 16, "it waits for ever");
                        let consumed = consumed + waits.get() as u128;
                        words.set(counter, consumed as u32);
                    };
                    if is_ring {
                        let drawn = ring_producer::claim(&words, slots, pause);
                        assert_eq!(drawn, ticket as u32);
                    } else {
                        assert_eq!(queue_producer::draw(&words, 1), ticket as u32);
                        queue_producer::claim(&words, slots, ticket as u32, pause);
                    }
                    assert_eq!(words.get(next), (ticket + 1) as u32);
                    let laps = ahead - i128::from(slots) + 1;
                    assert_eq!(waits.get(), if must_wait { laps } else { 0 });
                }
            }
        }
    }
}

/// All orders of `count` things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(count - 1);
    let with_last = |order: &Vec<usize>, at| {
        let mut order = order.clone();
        order.insert(at, count - 1);
        order
    };
    shorter
        .iter()
        .flat_map(|order| (0..count).map(move |at| with_last(order, at)))
        .collect()
}

/// The number of consumed tickets: those before the first one of `slots` that is not `done`.
fn consumed_of(start: u128, done: &[bool]) -> u128 {
    start + done.iter().take_while(|&&done| done).count() as u128
}

#[test]
fn rings_consume_tickets_in_their_order_whatever_the_order_of_requests() {
    const SLOTS: u32 = 4;
    for start in around_the_wrap(9) {
        let words = Words::default();
        let (next, consumed) = (
            offset_of!(GccRing, next_slot),
            offset_of!(GccRing, consumed),
        );
        words.set(next, start as u32);
        words.set(consumed, start as u32);
        let mut poller = gcc_ring::Poller::new(words.clone(), SLOTS, start as u32);
        let mut lap = start;
        for order in orders(SLOTS as usize) {
            for i in 0..u128::from(SLOTS) {
                let ticket = ring_producer::claim(&words, SLOTS, no_pause);
                assert_eq!(u128::from(ticket), (lap + i) % WRAP);
            }
            assert_eq!(poller.poll(), Poll::Empty);
            let mut done = [false; SLOTS as usize];
            for i in order {
                let request = GccRingSlot {
                    signal: 8 + i as u64,
                    func: 100 + i as u64,
                    mapnum: 0,
                    addrs: 0,
                    sizes: 0,
                    kinds: 0,
                    dev_num: 0,
                    reserved: 0,
                };
                ring_producer::publish(&words, SLOTS, (lap + i as u128) as u32, &request);
                let Poll::Request(found) = poller.poll() else {
                    panic!("the request of ticket {i} is not found");
                };
                assert_eq!(found.func, request.func);
                done[i] = true;
                let expected = consumed_of(lap, &done);
                assert_eq!(u128::from(words.get(consumed)), expected % WRAP);
                assert_eq!(poller.poll(), Poll::Empty);
            }
            lap += u128::from(SLOTS);
        }
    }
}

#[test]
fn queues_consume_tickets_in_their_order_whatever_the_order_of_answers() {
    const SLOTS: u32 = 4;
    for start in around_the_wrap(9) {
        let words = Words::default();
        words.set(offset_of!(GcnQueue, next_output), start as u32);
        words.set(offset_of!(GcnQueue, consumed), start as u32);
        let mut poller = gcn_queue::Poller::new(words.clone(), SLOTS, start as u32);
        let mut lap = start;
        for order in orders(SLOTS as usize) {
            for i in 0..u128::from(SLOTS) {
                let ticket = queue_producer::draw(&words, 1);
                assert_eq!(u128::from(ticket), (lap + i) % WRAP);
                queue_producer::claim(&words, SLOTS, ticket, no_pause);
            }
            // Every second call has a completion word, and keeps its slot only until it is taken.
            let has_signal = |i: usize| i % 2 == 1;
            let mut done = [false; SLOTS as usize];
            for &i in &order {
                let call = GcnCall {
                    func: 100 + i as u64,
                    mapnum: 0,
                    addrs: 0,
                    sizes: 0,
                    kinds: 0,
                    dev_num: 0,
                    signal: 8,
                };
                let ticket = (lap + i as u128) as u32;
                if has_signal(i) {
                    queue_producer::publish_call(&words, SLOTS, ticket, &call);
                } else {
                    queue_producer::publish_call_in_slot(&words, SLOTS, ticket, &call);
                }
                let Poll::Request(found) = poller.poll() else {
                    panic!("the call of ticket {i} is not found");
                };
                assert_eq!(found.func, call.func);
                done[i] = has_signal(i);
                let consumed = words.get(offset_of!(GcnQueue, consumed));
                assert_eq!(u128::from(consumed), consumed_of(lap, &done) % WRAP);
            }
            for &i in order.iter().rev().filter(|&&i| !has_signal(i)) {
                let slot = (lap + i as u128) % u128::from(SLOTS);
                gcn_queue::complete(&words, slot as u32);
                done[i] = true;
                assert_eq!(poller.poll(), Poll::Empty);
                let consumed = words.get(offset_of!(GcnQueue, consumed));
                assert_eq!(u128::from(consumed), consumed_of(lap, &done) % WRAP);
            }
            lap += u128::from(SLOTS);
        }
    }
}

/// A counter that a device has changed is an error exactly if it is behind the host's.
#[test]
fn counters_of_a_broken_device_are_errors() {
    for start in around_the_wrap(3) {
        for moved in boundaries() {
            let drawn = (start as u32).wrapping_add(moved);
            let is_behind = moved > i32::MAX as u32;
            let words = Words::default();
            words.set(offset_of!(GccRing, next_slot), drawn);
            let mut poller = gcc_ring::Poller::new(words.clone(), 4, start as u32);
            let is_error = matches!(poller.poll(), Poll::ProtocolError(_));
            assert_eq!(is_error, is_behind, "{start} and {moved}");
            assert_eq!(poller.poll(), Poll::Empty);
            let words = Words::default();
            words.set(offset_of!(GcnQueue, next_output), drawn);
            let mut poller = gcn_queue::Poller::new(words.clone(), 4, start as u32);
            let is_error = matches!(poller.poll(), Poll::ProtocolError(_));
            assert_eq!(is_error, is_behind, "{start} and {moved}");
        }
    }
}
