//! The `native` wire: claims, requests and replies in cells, the memory that they order, and reuse of
//! slots.

use core::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use model::Access::{AcquireFence, FetchAnd, FetchOr, ReleaseFence};
use model::Side::{Device, Host};
use model::{Memory, Runs, SlotRows, Team, View, Weak, add_cells, explore, pause};
use revoff_device::claims::{self, Claim};
use revoff_device::wire::native::{LaneRows, Producer, Progress, Reply};
use revoff_host::model::Poll;
use revoff_host::model::native::{NativeRequest, Poller, Warps, complete};
use shared_abi::status::Status;
use shared_abi::wire::claims::{ClaimGroup, group_offset};
use shared_abi::wire::native::{
    self, HEADER_ROWS, RequestMeta, cell, cell_data, replies_offset, row_offset, slot_offset,
};
use shared_abi::words::{Load as LoadOrder, Store as StoreOrder, SystemWords};

/// Lanes that a slot has room for.
const LANES: u32 = 2;

/// Rows of a long request: the header, and a row with a bounce extent.
const REQUEST_ROWS: u32 = HEADER_ROWS + 1;

/// Rows of the reply to a long request: the completion, and a row of results.
const REPLY_ROWS: u32 = 2;

/// A wire, and the calls on it.
#[derive(Clone, Copy)]
struct Shape {
    slots: u32,
    /// Device threads that call.
    callers: u32,
    /// Calls of each.
    calls: u32,
    /// Serving threads, including that of the model.
    servers: u32,
    /// Whether calls order memory outside their slot, a word for each slot and lane.
    is_ordered: bool,
    /// Whether the first sequence number is the last before the wrap. The request with that number is
    /// short, and the cells that only long ones have contain an earlier request with the number of the
    /// second.
    wraps: bool,
}

impl Shape {
    /// The last sequence number of each slot.
    fn seq(self) -> u32 {
        if self.wraps { u32::MAX - 1 } else { 7 }
    }

    fn is_long(self, seq: u32) -> bool {
        !self.wraps || seq != u32::MAX
    }

    /// The wire in mapped memory, for requests by `count` lanes.
    fn wire(self, count: u32, weak: Option<Weak>) -> (View, View) {
        let rows = SlotRows {
            lanes: LANES,
            count,
            request: REQUEST_ROWS,
            reply: REPLY_ROWS,
        };
        let seq = |row| {
            if self.wraps && row != 0 {
                1
            } else {
                self.seq()
            }
        };
        let mut memory = Memory::new(weak);
        for slot in 0..self.slots {
            memory = add_cells(memory, slot, rows, seq);
            for rank in 0..count {
                memory = memory.data64(self.outside(slot, rank), "outside", 0);
            }
        }
        memory.unread(0..native::size(self.slots, LANES)).share()
    }

    /// Offset of the memory outside the slot, for a lane of it.
    fn outside(self, slot: u32, rank: u32) -> usize {
        native::size(self.slots, LANES) + (slot * LANES + rank) as usize * 8
    }

    /// The claims on the slots, in device memory.
    fn claims(self, weak: Option<Weak>) -> View {
        let group = group_offset(0);
        let mut memory = Memory::new(weak).flag32(
            group + offset_of!(ClaimGroup, taken),
            "taken",
            u32::MAX << self.slots,
        );
        for slot in 0..self.slots as usize {
            let at = group + offset_of!(ClaimGroup, seqs) + slot * 4;
            memory = memory.data32(at, "seqs", self.seq());
        }
        memory.share().0
    }
}

/// Writes a request of which all words are derived from `id`.
fn publish(shape: Shape, producer: &Producer<View>, at: LaneRows, id: u64) {
    if shape.is_ordered {
        let outside = shape.outside(at.claim.slot, at.rank);
        producer.system().store64(outside, id, StoreOrder::Relaxed);
    }
    let is_long = shape.is_long(at.claim.seq);
    if is_long {
        let mut rows = producer.request(at);
        rows.skip(HEADER_ROWS);
        rows.push([id as u32, !id as u32]);
    }
    producer.release(at, shape.is_ordered);
    let count = if is_long { REQUEST_ROWS } else { HEADER_ROWS };
    let meta = RequestMeta::new(at.count, count, is_long, 0);
    let mut rows = producer.request(at);
    rows.push([meta.0, id as u32]);
    rows.push([id as u32, 0]);
}

/// Checks the results of a request whose reply has arrived.
fn check_results(shape: Shape, producer: &Producer<View>, at: LaneRows, id: u64, reply: Reply) {
    assert_eq!(reply.status, Status::DONE);
    assert_eq!(reply.written, id as u32, "a reply to another request");
    if shape.is_long(at.claim.seq) {
        let mut back = 0u64;
        let mut rows = producer.reply_rows(at);
        rows.skip(1);
        // SAFETY: `back` is a local word of 8 bytes.
        unsafe { rows.pull_bytes(true, (&raw mut back).cast(), 8, pause) };
        assert_eq!(back, !id, "results of another request");
    }
    if shape.is_ordered {
        let outside = shape.outside(at.claim.slot, at.rank);
        let back = producer.system().load64(outside, LoadOrder::Relaxed);
        assert_eq!(back, !id, "memory of another request");
    }
}

/// A call by a device thread.
fn call(shape: Shape, device: &View, producer: &Producer<View>, id: u64) {
    let at = LaneRows {
        claim: claims::take(device, shape.slots, 0, pause),
        rank: 0,
        count: 1,
    };
    publish(shape, producer, at, id);
    let cells = producer.wait(at, |_| true, pause);
    producer.acquire(at, shape.is_ordered);
    let reply = Progress::new(cells, 1).reply.unwrap();
    check_results(shape, producer, at, id, reply);
    claims::release(device, at.claim);
}

/// Runs the function of a request, and writes its results. Returns the set of written ranges.
fn run_function(shape: Shape, host: &View, request: &NativeRequest) -> u32 {
    let (lane, id) = (request.lane, request.func);
    assert_eq!(u64::from(request.launch), id, "words of another request");
    if shape.is_long(lane.seq) {
        let extent = (request.bounce_first, request.bounce_blocks);
        assert_eq!(extent, (id as u32, !id as u32), "words of another request");
        let area = slot_offset(LANES, lane.slot) + replies_offset(LANES);
        let results = [!id as u32, (!id >> 32) as u32].map(|half| cell(half, lane.seq));
        host.store_pair(area + row_offset(1, lane.rank, lane.count), results);
    }
    if shape.is_ordered {
        let outside = shape.outside(lane.slot, lane.rank);
        let found = host.load64(outside, LoadOrder::Relaxed);
        assert_eq!(found, id, "memory of another request");
        host.store64(outside, !id, StoreOrder::Relaxed);
    }
    id as u32
}

/// Serves a request.
fn answer(shape: Shape, host: &View, warps: &Warps, request: &NativeRequest) {
    let written = run_function(shape, host, request);
    complete(host.clone(), warps, request, Status::DONE, written.into());
}

/// Polls for a request. `poll` may omit slots, so `poll_all` follows. With several servers, it runs
/// alone to limit the search.
fn poll_once(poller: &mut Poller<View>, servers: u32) -> Poll<NativeRequest> {
    if servers > 1 {
        return poller.poll_all();
    }
    match poller.poll() {
        Poll::Empty => poller.poll_all(),
        found => found,
    }
}

fn join(threads: Vec<loom::thread::JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            panic!("a thread failed");
        }
    }
}

fn run(shape: Shape, weak: Option<Weak>) {
    let (system, host) = shape.wire(1, weak);
    let device = shape.claims(weak);
    let warps = Arc::new(Warps::new(shape.slots, LANES));
    let poller = Poller::new(host.clone(), Arc::clone(&warps), shape.seq());
    let team = Arc::new(Team::new(poller, shape.callers * shape.calls));
    let serve = move |team: &Team<Poller<View>>, host: &View, warps: &Warps| {
        team.spin(
            |poller| poll_once(poller, shape.servers),
            |request| answer(shape, host, warps, request),
        );
    };
    let mut threads = Vec::new();
    for caller in 0..shape.callers {
        let (device, producer) = (device.clone(), Producer::new(system.clone(), LANES));
        threads.push(loom::thread::spawn(move || {
            for i in 0..shape.calls {
                let id = caller * shape.calls + i + 1;
                call(shape, &device, &producer, id.into());
            }
        }));
    }
    for _ in 1..shape.servers {
        let (team, host, warps) = (Arc::clone(&team), host.clone(), Arc::clone(&warps));
        threads.push(loom::thread::spawn(move || serve(&team, &host, &warps)));
    }
    serve(&team, &host, &warps);
    join(threads);
}

fn check(name: &str, runs: Runs, shape: Shape) {
    explore(name, runs, move || run(shape, None));
}

/// One caller and one slot, whose calls order memory.
const ONE: Shape = Shape {
    slots: 1,
    callers: 1,
    calls: 1,
    servers: 1,
    is_ordered: true,
    wraps: false,
};

#[test]
fn one_caller_calls_again() {
    let shape = Shape { calls: 2, ..ONE };
    check(
        "native, a caller that calls again",
        Runs::Preemptions(3),
        shape,
    );
}

#[test]
fn cells_of_an_earlier_cycle() {
    for (is_ordered, servers) in [(true, 1), (true, 2), (false, 1), (false, 2)] {
        let shape = Shape {
            calls: 2,
            servers,
            is_ordered,
            wraps: true,
            ..ONE
        };
        check("native, sequence numbers wrap", Runs::Preemptions(2), shape);
    }
}

/// The cells alone keep requests and replies apart, without fences.
#[test]
#[ignore = "takes seconds: ci/loom"]
fn two_callers_without_fences() {
    let shape = Shape {
        callers: 2,
        is_ordered: false,
        ..ONE
    };
    check(
        "native, two callers without fences",
        Runs::Preemptions(2),
        shape,
    );
}

#[test]
fn two_callers_share_a_slot() {
    let shape = Shape { callers: 2, ..ONE };
    check(
        "native, two callers and a slot",
        Runs::Preemptions(2),
        shape,
    );
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn two_callers_two_servers() {
    let shape = Shape {
        slots: 2,
        callers: 2,
        servers: 2,
        ..ONE
    };
    check(
        "native, two callers, two slots, two servers",
        Runs::Preemptions(2),
        shape,
    );
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn three_callers_two_slots() {
    let shape = Shape {
        slots: 2,
        callers: 3,
        ..ONE
    };
    check(
        "native, three callers, two slots",
        Runs::Preemptions(1),
        shape,
    );
}

/// Two lanes of a warp in a slot. The host completes their requests in that order, and each lane
/// returns when its own reply has come.
fn run_warp(shape: Shape, order: [usize; 2]) {
    const COUNT: u32 = 2;
    let (system, host) = shape.wire(COUNT, None);
    let warps = Arc::new(Warps::new(shape.slots, LANES));
    let mut poller = Poller::new(host.clone(), Arc::clone(&warps), shape.seq());
    let claim = Claim {
        slot: 0,
        seq: shape.seq() + 1,
    };
    let lane = move |rank: u32| LaneRows {
        claim,
        rank,
        count: COUNT,
    };
    let producer = Producer::new(system, LANES);
    let first = loom::thread::spawn(move || {
        let id = |rank: u32| u64::from(rank) + 1;
        let other = producer.clone();
        let publishing = loom::thread::spawn(move || publish(shape, &other, lane(1), id(1)));
        publish(shape, &producer, lane(0), id(0));
        join(vec![publishing]);
        let mut done = 0u64;
        while done != 0b11 {
            // The first of the lanes that wait polls, and the others converge with it.
            let polls = lane(done.trailing_ones());
            let cells = producer.wait(polls, |now| now != done, pause);
            producer.acquire(polls, shape.is_ordered);
            let progress = Progress::new(cells, COUNT);
            let new = (0..COUNT).filter(|rank| (progress.done & !done) >> rank & 1 != 0);
            let returning = new.map(|rank| {
                let producer = producer.clone();
                loom::thread::spawn(move || {
                    let reply = progress.reply;
                    let reply = reply.unwrap_or_else(|| producer.reply(lane(rank), pause));
                    check_results(shape, &producer, lane(rank), id(rank), reply);
                })
            });
            join(returning.collect());
            done = progress.done;
        }
    });
    let mut requests: Vec<NativeRequest> = Vec::new();
    let mut attempt = 0;
    while requests.len() < 2 {
        match poller.poll() {
            Poll::Request(request) => requests.push(request),
            Poll::Empty | Poll::Incomplete => {
                pause(attempt);
                attempt += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    for index in order {
        answer(shape, &host, &warps, &requests[index]);
    }
    join(vec![first]);
}

#[test]
fn two_lanes_share_a_slot() {
    for order in [[0, 1], [1, 0]] {
        explore("native, two lanes", Runs::Preemptions(2), move || {
            run_warp(ONE, order);
        });
    }
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn two_lanes_without_fences() {
    let shape = Shape {
        is_ordered: false,
        ..ONE
    };
    let name = "native, two lanes without fences";
    explore(name, Runs::Preemptions(1), move || run_warp(shape, [1, 0]));
}

/// Two warps claim slots; each slot has one owner at a time, and its sequence number is the owner's.
#[test]
fn two_warps_claim() {
    const SLOTS: u32 = 2;
    let shape = Shape {
        slots: SLOTS,
        ..ONE
    };
    explore("claims, two warps", Runs::All, move || {
        let device = shape.claims(None);
        let owners = Arc::new([const { AtomicU32::new(0) }; SLOTS as usize]);
        let warp = |device: View, owners: Arc<[AtomicU32; SLOTS as usize]>| {
            move || {
                for _ in 0..2 {
                    let claim = claims::take(&device, SLOTS, 0, pause);
                    let owner = &owners[claim.slot as usize];
                    // Relaxed: not a word of the model.
                    assert_eq!(owner.fetch_add(1, Ordering::Relaxed), 0, "claimed twice");
                    loom::thread::yield_now();
                    owner.fetch_sub(1, Ordering::Relaxed);
                    claims::release(&device, claim);
                }
            }
        };
        let other = loom::thread::spawn(warp(device.clone(), Arc::clone(&owners)));
        warp(device, owners)();
        join(vec![other]);
    });
}

/// Rows arrive in any order, so a host that checks the sequence number of one cell and uses another
/// gets the words of an earlier request.
#[test]
#[should_panic(expected = "words of an earlier request")]
fn a_cell_does_not_publish_another() {
    explore("native, the sequence number of a row", Runs::All, || {
        let (system, host) = ONE.wire(1, None);
        let at = LaneRows {
            claim: Claim {
                slot: 0,
                seq: ONE.seq() + 1,
            },
            rank: 0,
            count: 1,
        };
        let device = loom::thread::spawn(move || {
            let producer = Producer::new(system, LANES);
            let mut rows = producer.request(at);
            rows.skip(1);
            rows.push([100; 2]);
            producer.request(at).push([100; 2]);
        });
        let load = |row| host.load64(row_offset(row, 0, 1), LoadOrder::Relaxed);
        let mut attempt = 0;
        while cell_data(load(0), at.claim.seq).is_none() {
            pause(attempt);
            attempt += 1;
        }
        assert_eq!(load(1) as u32, 100, "words of an earlier request");
        join(vec![device]);
    });
}

/// Explores a model without an order.
fn weak(weak: Weak) {
    let shape = Shape { callers: 2, ..ONE };
    explore("native, weakened", Runs::Preemptions(3), move || {
        run(shape, Some(weak))
    });
}

/// Explores requests at the wrap without an order.
fn weak_at_wrap(weak: Weak) {
    let shape = Shape {
        calls: 2,
        servers: 2,
        is_ordered: false,
        wraps: true,
        ..ONE
    };
    explore(
        "native, weakened at the wrap",
        Runs::Preemptions(2),
        move || run(shape, Some(weak)),
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n1_without_device_release() {
    weak(Weak(Device, ReleaseFence, "fence"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n1_without_host_acquire() {
    weak(Weak(Host, AcquireFence, "fence"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n2_without_host_release() {
    weak(Weak(Host, ReleaseFence, "fence"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n2_without_device_acquire() {
    weak(Weak(Device, AcquireFence, "fence"));
}

#[test]
#[should_panic(expected = "words of another request")]
fn the_wrap_needs_the_fence_of_the_device() {
    weak_at_wrap(Weak(Device, ReleaseFence, "fence"));
}

#[test]
#[should_panic(expected = "words of another request")]
fn the_wrap_needs_the_fence_of_the_host() {
    weak_at_wrap(Weak(Host, AcquireFence, "fence"));
}

/// The host may then clear cells of the next request, and both sides wait for ever. Loom limits the
/// branches of a single run, and no run of the unweakened model reaches that limit: its test passes.
#[test]
#[should_panic(expected = "maximum number of branches")]
fn the_wrap_needs_the_acquire_of_the_device() {
    weak_at_wrap(Weak(Device, AcquireFence, "fence"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn c1_without_device_release() {
    weak(Weak(Device, FetchAnd, "taken"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn c1_without_device_acquire() {
    weak(Weak(Device, FetchOr, "taken"));
}
