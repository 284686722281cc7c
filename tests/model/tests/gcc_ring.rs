//! The `gcc-ring` wire, with a ring of two slots whose counters wrap.

use core::mem::offset_of;
use std::sync::Arc;

use model::Access::{Load, Store};
use model::Side::{Device, Host};
use model::{Memory, Runs, Team, View, Weak, explore, pause};
use revoff_device::wire::gcc_ring as producer;
use revoff_host::model::gcc::{Completion, GccRequest};
use revoff_host::model::gcc_ring::{Poller, complete};
use shared_abi::wire::gcc_ring::{GccRing, GccRingSlot};
use shared_abi::words::{Load::Relaxed, Store as Order, SystemWords};

const SLOTS: u32 = 2;

/// The first ticket. The second is 0, after the wrap; the third has the slot of the first.
const TICKET: u32 = u32::MAX;

/// Offset of the completion word of `caller`; its argument's bytes follow at 8. Both sides access
/// this memory.
const fn words_of(caller: u64) -> usize {
    1024 + caller as usize * 64
}

fn memory(callers: u64, weak: Option<Weak>) -> (View, View) {
    let mut memory = Memory::new(weak)
        .flag32(offset_of!(GccRing, next_slot), "next_slot", TICKET)
        .flag32(offset_of!(GccRing, consumed), "consumed", TICKET)
        .data32(offset_of!(GccRing, claimed), "claimed", TICKET);
    for slot in 0..SLOTS as usize {
        let at = offset_of!(GccRing, queue) + slot * size_of::<GccRingSlot>();
        memory = memory
            .flag64(at + offset_of!(GccRingSlot, signal), "signal", 0)
            .data64(at + offset_of!(GccRingSlot, func), "func", 0)
            .data64(at + offset_of!(GccRingSlot, mapnum), "mapnum", 0)
            .data64(at + offset_of!(GccRingSlot, addrs), "addrs", 0)
            .data64(at + offset_of!(GccRingSlot, sizes), "sizes", 0)
            .data64(at + offset_of!(GccRingSlot, kinds), "kinds", 0)
            .data32(at + offset_of!(GccRingSlot, dev_num), "dev_num", 0);
    }
    for caller in 0..callers {
        memory =
            memory
                .flag32(words_of(caller), "done", 0)
                .data64(words_of(caller) + 8, "bytes", 0);
    }
    memory.share()
}

fn call(system: &View, caller: u64, id: u64) {
    let own = words_of(caller);
    let ticket = producer::claim(system, SLOTS, pause);
    system.store32(own, 0, Order::Relaxed);
    system.store64(own + 8, id, Order::Relaxed);
    producer::publish(
        system,
        SLOTS,
        ticket,
        &GccRingSlot {
            signal: own as u64,
            func: id,
            mapnum: id,
            addrs: id,
            sizes: id,
            kinds: id,
            dev_num: id as i32,
            reserved: 0,
        },
    );
    producer::wait(system, own, pause);
    assert_eq!(system.load64(own + 8, Relaxed), !id, "another result");
}

fn answer(host: &View, request: &GccRequest) {
    let id = request.func;
    assert_eq!(
        [request.mapnum, request.addrs, request.sizes, request.kinds],
        [id; 4],
        "words of another request"
    );
    let Completion::Signal(signal) = request.completion else {
        panic!("a request without a signal")
    };
    let own = signal.0 as usize;
    assert_eq!(
        host.load64(own + 8, Relaxed),
        id,
        "bytes of another request"
    );
    host.store64(own + 8, !id, Order::Relaxed);
    complete(host, own);
}

/// Caller `i` calls `calls[i]` times.
fn run(calls: &'static [u64], servers: u64, weak: Option<Weak>) {
    let (system, host) = memory(calls.len() as u64, weak);
    let team = Team::new(
        Poller::new(host.clone(), SLOTS, TICKET),
        calls.iter().sum::<u64>() as u32,
    );
    let team = Arc::new(team);
    let serve = |team: &Team<Poller<View>>, host: &View| {
        team.spin(Poller::poll, |request| answer(host, request));
    };
    let mut threads = Vec::new();
    for (caller, &count) in (0..).zip(calls) {
        let system = system.clone();
        threads.push(loom::thread::spawn(move || {
            for i in 0..count {
                call(&system, caller, caller * 8 + i + 1);
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

#[test]
fn one_caller_calls_twice() {
    explore("gcc-ring, a caller that calls again", Runs::All, || {
        run(&[2], 1, None)
    });
}

#[test]
fn a_slot_is_used_again() {
    explore(
        "gcc-ring, three tickets, two slots",
        Runs::Preemptions(2),
        || run(&[2, 1], 1, None),
    );
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn two_callers_two_servers() {
    explore(
        "gcc-ring, two callers, two servers",
        Runs::Preemptions(2),
        || run(&[1, 1], 2, None),
    );
}

/// Explores a model without an order.
fn weak(weak: Weak) {
    explore("gcc-ring, weakened", Runs::Preemptions(2), move || {
        run(&[2, 1], 1, Some(weak))
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn r1_without_device_release() {
    weak(Weak(Device, Store, "signal"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn r1_without_host_acquire() {
    weak(Weak(Host, Load, "signal"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn r2_without_host_release() {
    weak(Weak(Host, Store, "done"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn r2_without_device_acquire() {
    weak(Weak(Device, Load, "done"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn r3_without_host_release() {
    weak(Weak(Host, Store, "consumed"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn r3_without_device_acquire() {
    weak(Weak(Device, Load, "consumed"));
}
