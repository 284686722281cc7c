//! The `gcc-slot` wire: one slot, used in turn by threads that take its lock.

use core::mem::offset_of;
use std::sync::Arc;

use model::Access::{FetchAnd, FetchOr, Load, Store};
use model::Side::{Device, Host};
use model::{Memory, Runs, Team, View, Weak, explore, pause};
use revoff_device::wire::gcc_slot as producer;
use revoff_host::model::gcc::GccRequest;
use revoff_host::model::gcc_slot::{Poller, complete};
use shared_abi::wire::claims::ClaimsHeader;
use shared_abi::wire::gcc_slot::GccSlot;
use shared_abi::words::{Load::Relaxed, Store as Order, SystemWords};

/// Offset of an argument's bytes, which both sides access.
const BYTES: usize = 1024;

fn memory(weak: Option<Weak>) -> (View, View) {
    Memory::new(weak)
        .flag64(offset_of!(GccSlot, func), "func", 0)
        .data64(offset_of!(GccSlot, mapnum), "mapnum", 0)
        .data64(offset_of!(GccSlot, addrs), "addrs", 0)
        .data64(offset_of!(GccSlot, sizes), "sizes", 0)
        .data64(offset_of!(GccSlot, kinds), "kinds", 0)
        .data32(offset_of!(GccSlot, dev_num), "dev_num", 0)
        .data64(BYTES, "bytes", 0)
        .share()
}

fn call(device: &View, system: &View, id: u64) {
    producer::lock(device, pause);
    // The holder of the lock owns the bytes.
    system.store64(BYTES, id, Order::Relaxed);
    producer::publish(
        system,
        &GccSlot {
            func: id,
            mapnum: id,
            addrs: id,
            sizes: id,
            kinds: id,
            dev_num: id as i32,
            reserved: 0,
        },
    );
    producer::wait(system, pause);
    assert_eq!(system.load64(BYTES, Relaxed), !id, "another result");
    producer::unlock(device);
}

fn answer(host: &View, request: &GccRequest) {
    let id = request.func;
    assert_eq!(
        [request.mapnum, request.addrs, request.sizes, request.kinds],
        [id; 4],
        "words of another request"
    );
    assert_eq!(host.load64(BYTES, Relaxed), id, "bytes of another request");
    host.store64(BYTES, !id, Order::Relaxed);
    complete(host);
}

fn run(callers: u64, calls: u64, servers: u64, weak: Option<Weak>) {
    let (system, host) = memory(weak);
    let (device, _) = Memory::new(weak)
        .flag32(offset_of!(ClaimsHeader, slot_lock), "lock", 0)
        .share();
    let team = Arc::new(Team::new(
        Poller::new(host.clone()),
        (callers * calls) as u32,
    ));
    let serve = |team: &Team<Poller<View>>, host: &View| {
        team.spin(Poller::poll, |request| answer(host, request));
    };
    let mut threads = Vec::new();
    for caller in 0..callers {
        let (device, system) = (device.clone(), system.clone());
        threads.push(loom::thread::spawn(move || {
            for i in 0..calls {
                call(&device, &system, caller * calls + i + 1);
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
fn one_caller_calls_again() {
    explore("gcc-slot, a caller that calls again", Runs::All, || {
        run(1, 2, 1, None)
    });
}

#[test]
fn two_callers_two_servers() {
    explore(
        "gcc-slot, two callers, two servers",
        Runs::Preemptions(2),
        || run(2, 1, 2, None),
    );
}

/// Explores a model without an order.
fn weak(weak: Weak) {
    explore("gcc-slot, weakened", Runs::Preemptions(2), move || {
        run(2, 1, 2, Some(weak))
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn s1_without_device_release() {
    weak(Weak(Device, Store, "func"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn s1_without_host_acquire() {
    weak(Weak(Host, Load, "func"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn s2_without_host_release() {
    weak(Weak(Host, Store, "func"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn s2_without_device_acquire() {
    weak(Weak(Device, Load, "func"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn s3_without_device_release() {
    weak(Weak(Device, FetchAnd, "lock"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn s3_without_device_acquire() {
    weak(Weak(Device, FetchOr, "lock"));
}
