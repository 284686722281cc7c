//! The `native` wire: claims, publication, reply, and reuse of slots.

use core::mem::offset_of;
use std::sync::Arc;

use device_rt::wire::native::Producer;
use device_rt::{claims, lanes};
use host_rt::model::Poll;
use host_rt::model::native::{NativeRequest, Poller, complete};
use model::Access::{FetchAnd, FetchOr, Load, Store};
use model::Side::{Device, Host};
use model::{Memory, Runs, Team, View, Weak, add_request_words, explore, pause};
use shared_abi::status::Status;
use shared_abi::wire::claims::{ClaimGroup, group_offset};
use shared_abi::wire::native::{self, ReplyHeader, RequestHeader, Slot, slot_offset};
use shared_abi::words::SystemWords;

/// The last sequence number of each slot. The next one is 0, after the wrap.
const SEQ: u32 = u32::MAX;

/// The wire in mapped memory.
fn wire(slots: u32, weak: Option<Weak>) -> (View, View) {
    let mut memory = Memory::new(weak);
    for slot in 0..slots {
        let at = slot_offset(slots, slot);
        let reply = at + offset_of!(Slot, reply);
        memory = add_request_words(memory, slots, slot, SEQ)
            .data64(at + offset_of!(Slot, request_payload), "request payload", 0)
            .flag64(
                reply + offset_of!(ReplyHeader, seq),
                "reply",
                native::pack_completion(SEQ, Status::NONE.0),
            )
            .data64(reply + offset_of!(ReplyHeader, copied), "copied", 0)
            .data64(at + offset_of!(Slot, reply_payload), "reply payload", 0);
    }
    memory.share()
}

/// The claims on the slots, in device memory.
fn claims(slots: u32, weak: Option<Weak>) -> View {
    let group = group_offset(0);
    let mut memory = Memory::new(weak).flag32(
        group + offset_of!(ClaimGroup, taken),
        "taken",
        u32::MAX << slots,
    );
    for slot in 0..slots as usize {
        memory = memory.data32(group + offset_of!(ClaimGroup, seqs) + slot * 4, "seqs", SEQ);
    }
    memory.share().0
}

/// A call by a device thread. All words of its request and its reply are derived from `id`.
fn call(device: &View, producer: &Producer<View>, slots: u32, id: u64) {
    // SAFETY: `waterfall` calls this in all of `lanes` together.
    let claim = lanes::waterfall(|lanes| unsafe { claims::claim(device, slots, 0, lanes, pause) });
    // SAFETY: `id` is a local word of 8 bytes.
    unsafe {
        let at = producer.request_payload(claim);
        producer.system().write_bytes(at, (&raw const id).cast(), 8);
    }
    producer.write_header(
        claim,
        &RequestHeader {
            seq: claim.seq,
            launch: id as u32,
            func: id,
            mapnum: id as u32,
            dev_num: id as i32,
            bounce_first: id as u32,
            bounce_blocks: id as u32,
        },
    );
    producer.publish(claim);
    assert_eq!(producer.wait(claim, pause), Status::DONE);
    let copied = producer.copied(claim);
    assert_eq!(copied, id, "a reply to another request");
    let mut back = 0u64;
    // SAFETY: `back` is a local word of 8 bytes.
    unsafe {
        let at = producer.reply_payload(claim);
        producer.system().read_bytes(at, (&raw mut back).cast(), 8);
    }
    assert_eq!(back, !id, "a payload of another reply");
    claims::release(device, claim);
}

/// Serves a request.
fn answer(host: &View, slots: u32, request: &NativeRequest) {
    let (slot, seq, id) = (request.slot, request.seq, request.func);
    let words = [
        request.mapnum,
        request.launch,
        request.bounce_first,
        request.bounce_blocks,
    ];
    assert_eq!(words.map(u64::from), [id; 4], "words of another request");
    let at = slot_offset(slots, slot);
    let mut payload = 0u64;
    // SAFETY: `payload` is a local word of 8 bytes.
    unsafe {
        let at = at + offset_of!(Slot, request_payload);
        host.read_bytes(at, (&raw mut payload).cast(), 8);
    }
    assert_eq!(payload, id, "a payload of another request");
    let result = !id;
    // SAFETY: `result` is a local word of 8 bytes.
    unsafe {
        let at = at + offset_of!(Slot, reply_payload);
        host.write_bytes(at, (&raw const result).cast(), 8);
    }
    complete(host, slots, slot, seq, Status::DONE, id);
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

/// A wire of `slots` slots; `callers` device threads that call `calls` times each; `servers`
/// serving threads, including this one.
#[derive(Clone, Copy)]
struct Shape {
    slots: u32,
    callers: u32,
    calls: u32,
    servers: u32,
}

fn run(
    Shape {
        slots,
        callers,
        calls,
        servers,
    }: Shape,
    weak: Option<Weak>,
) {
    let (system, host) = wire(slots, weak);
    let device = claims(slots, weak);
    let team = Team::new(Poller::new(host.clone(), slots, SEQ), callers * calls);
    let team = Arc::new(team);
    let serve = move |team: &Team<Poller<View>>, host: &View| {
        team.spin(
            |poller| poll_once(poller, servers),
            |request| answer(host, slots, request),
        );
    };
    let mut threads = Vec::new();
    for caller in 0..callers {
        let (device, producer) = (device.clone(), Producer::new(system.clone(), slots));
        threads.push(loom::thread::spawn(move || {
            for i in 0..calls {
                call(&device, &producer, slots, u64::from(caller * calls + i + 1));
            }
        }));
    }
    for _ in 1..servers {
        let (team, host) = (Arc::clone(&team), host.clone());
        threads.push(loom::thread::spawn(move || serve(&team, &host)));
    }
    serve(&team, &host);
    for thread in threads {
        if thread.join().is_err() {
            panic!("a thread failed");
        }
    }
}

fn check(name: &str, runs: Runs, shape: Shape) {
    explore(name, runs, move || run(shape, None));
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn one_caller_calls_again() {
    let shape = Shape {
        slots: 1,
        callers: 1,
        calls: 2,
        servers: 1,
    };
    check("native, a caller that calls again", Runs::All, shape);
}

#[test]
fn two_callers_share_a_slot() {
    let shape = Shape {
        slots: 1,
        callers: 2,
        calls: 1,
        servers: 1,
    };
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
        calls: 1,
        servers: 2,
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
        calls: 1,
        servers: 2,
    };
    check(
        "native, three callers, two slots, two servers",
        Runs::Preemptions(1),
        shape,
    );
}

/// Two warps of two lanes, and only three slots. Each warp claims the available slots for its lanes
/// at once, and later one for the remaining lane.
#[test]
#[ignore = "takes seconds: ci/loom"]
fn two_warps_claim_together() {
    const SLOTS: u32 = 3;
    explore("claims, two warps", Runs::Preemptions(3), || {
        let device = claims(SLOTS, None);
        let warp = |device: View| {
            move || {
                let mut lanes = 2;
                while lanes > 0 {
                    let (claim_group, taken) = claims::take(&device, SLOTS, 0, lanes, pause);
                    assert_eq!(
                        (claim_group, taken >> SLOTS),
                        (0, 0),
                        "not a slot of the wire"
                    );
                    assert!((1..=lanes).contains(&taken.count_ones()));
                    lanes -= taken.count_ones();
                    let claimed = (0..SLOTS).filter(|bit| taken & (1 << bit) != 0);
                    // All calls begin before one ends, as in a warp.
                    let claims: Vec<_> = claimed
                        .map(|bit| claims::advance_seq(&device, 0, bit))
                        .collect();
                    for claim in claims {
                        claims::release(&device, claim);
                    }
                }
            }
        };
        let other = loom::thread::spawn(warp(device.clone()));
        warp(device)();
        if other.join().is_err() {
            panic!("a thread failed");
        }
    });
}

/// Explores a model without an order.
fn weak(weak: Weak) {
    let shape = Shape {
        slots: 1,
        callers: 2,
        calls: 1,
        servers: 1,
    };
    explore("native, weakened", Runs::Preemptions(3), move || {
        run(shape, Some(weak))
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n1_without_device_release() {
    weak(Weak(Device, Store, "request"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n1_without_host_acquire() {
    weak(Weak(Host, Load, "request"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n2_without_host_release() {
    weak(Weak(Host, Store, "reply"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn n2_without_device_acquire() {
    weak(Weak(Device, Load, "reply"));
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
