//! The `gcn-queue` wire, with a queue of two slots whose counters wrap. The models of `gcc-ring`
//! cover the edge of completion words.

use core::mem::offset_of;
use std::sync::Arc;

use model::Access::{Load, Store};
use model::Side::{Device, Host};
use model::{Memory, Runs, Team, View, Weak, explore, pause};
use revoff_device::wire::gcc_ring::wait;
use revoff_device::wire::gcn_queue as producer;
use revoff_host::model::gcc::{Completion, GccRequest};
use revoff_host::model::gcn_queue::{Poller, complete};
use revoff_host::model::{Poll, gcc_ring};
use shared_abi::wire::gcn_queue::{GcnCall, GcnMessage, GcnQueue, INTEGER};
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
        .flag32(offset_of!(GcnQueue, next_output), "next_output", TICKET)
        .flag32(offset_of!(GcnQueue, consumed), "queue.consumed", TICKET);
    for slot in 0..SLOTS as usize {
        let at = offset_of!(GcnQueue, queue) + slot * size_of::<GcnMessage>();
        memory = memory
            .flag32(at + offset_of!(GcnMessage, written), "written", 0)
            // An empty label has one word.
            .data32(at + offset_of!(GcnMessage, label), "label", 0)
            .data32(at + offset_of!(GcnMessage, kind), "kind", 0);
        for word in (0..size_of::<GcnCall>()).step_by(8) {
            memory = memory.data64(at + offset_of!(GcnMessage, value) + word, "value", 0);
        }
    }
    for caller in 0..callers {
        memory =
            memory
                .flag32(words_of(caller), "done", 0)
                .data64(words_of(caller) + 8, "bytes", 0);
    }
    memory.share()
}

/// The action of a caller.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Calls with a completion word.
    Call,
    /// Calls without a completion word.
    CallInSlot,
    /// Prints its number, then calls with a completion word.
    PrintAndCall,
}

fn act(system: &View, caller: u64, id: u64, action: Action) {
    let own = words_of(caller);
    let claim = || {
        let ticket = producer::draw(system, 1);
        producer::claim(system, SLOTS, ticket, pause);
        ticket
    };
    if let Action::PrintAndCall = action {
        producer::publish_number(system, SLOTS, claim(), b"", INTEGER, id);
    }
    let ticket = claim();
    system.store32(own, 0, Order::Relaxed);
    system.store64(own + 8, id, Order::Relaxed);
    let call = GcnCall {
        func: id,
        mapnum: id,
        addrs: own as u64,
        sizes: id,
        kinds: id,
        dev_num: id,
        signal: own as u64,
    };
    match action {
        Action::CallInSlot => {
            producer::publish_call_in_slot(system, SLOTS, ticket, &call);
            producer::wait_in_slot(system, SLOTS, ticket, pause);
        }
        Action::Call | Action::PrintAndCall => {
            producer::publish_call(system, SLOTS, ticket, &call);
            wait(system, own, pause);
        }
    }
    assert_eq!(system.load64(own + 8, Relaxed), !id, "another result");
}

fn answer(host: &View, request: &GccRequest) {
    let id = request.func;
    assert_eq!(
        [request.mapnum, request.sizes, request.kinds],
        [id; 3],
        "words of another request"
    );
    let own = request.addrs as usize;
    assert_eq!(
        host.load64(own + 8, Relaxed),
        id,
        "bytes of another request"
    );
    host.store64(own + 8, !id, Order::Relaxed);
    match request.completion {
        Completion::Signal(signal) => {
            assert_eq!(signal.0, request.addrs, "another completion word");
            gcc_ring::complete(host, own);
        }
        Completion::Slot(slot) => complete(host, slot),
        Completion::FunctionWord => panic!("not a request of this wire"),
    }
}

/// A poller, and the printed numbers.
struct Printing {
    poller: Poller<View>,
    printed: Vec<u64>,
    /// Whether each caller prints its number before its call.
    numbered: bool,
}

impl Printing {
    fn poll(&mut self) -> Poll<GccRequest> {
        loop {
            let found = self.poller.poll();
            match &found {
                Poll::Printed(text) => {
                    let number = std::str::from_utf8(text).ok();
                    let number = number.and_then(|text| text.trim_end().parse::<u64>().ok());
                    self.printed.extend(number);
                }
                Poll::Request(request) => {
                    let is_printed = self.printed.contains(&request.func);
                    assert_eq!(
                        is_printed, self.numbered,
                        "a call before its printed number"
                    );
                    return found;
                }
                _ => return found,
            }
        }
    }
}

/// Caller `i` performs the action `calls[i]` times.
fn run(action: Action, calls: &'static [u64], servers: u64, weak: Option<Weak>) {
    let (system, host) = memory(calls.len() as u64, weak);
    let poller = Printing {
        poller: Poller::new(host.clone(), SLOTS, TICKET),
        printed: Vec::new(),
        numbered: matches!(action, Action::PrintAndCall),
    };
    let team = Arc::new(Team::new(poller, calls.iter().sum::<u64>() as u32));
    let serve = |team: &Team<Printing>, host: &View| {
        team.spin(Printing::poll, |request| answer(host, request));
    };
    let mut threads = Vec::new();
    for (caller, &count) in (0..).zip(calls) {
        let system = system.clone();
        threads.push(loom::thread::spawn(move || {
            for i in 0..count {
                act(&system, caller, caller * 8 + i + 1, action);
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
    explore("gcn-queue, a caller that calls again", Runs::All, || {
        run(Action::Call, &[2], 1, None)
    });
}

#[test]
fn one_caller_calls_twice_in_slots() {
    explore("gcn-queue, answers in slots", Runs::All, || {
        run(Action::CallInSlot, &[2], 1, None)
    });
}

#[test]
fn text_of_a_thread_precedes_its_call() {
    explore("gcn-queue, a caller that prints", Runs::All, || {
        run(Action::PrintAndCall, &[1], 1, None)
    });
}

#[test]
fn a_slot_is_used_again() {
    explore(
        "gcn-queue, three tickets, two slots",
        Runs::Preemptions(2),
        || run(Action::Call, &[2, 1], 1, None),
    );
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn a_slot_that_had_an_answer_is_used_again() {
    explore(
        "gcn-queue, three tickets, two slots, answers in slots",
        Runs::Preemptions(2),
        || run(Action::CallInSlot, &[2, 1], 1, None),
    );
}

#[test]
#[ignore = "takes seconds: ci/loom"]
fn two_callers_two_servers() {
    explore(
        "gcn-queue, two callers, two servers",
        Runs::Preemptions(2),
        || run(Action::Call, &[1, 1], 2, None),
    );
}

/// Explores a model without an order.
fn weak(action: Action, weak: Weak) {
    explore("gcn-queue, weakened", Runs::Preemptions(2), move || {
        run(action, &[2, 1], 1, Some(weak))
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn q1_without_device_release() {
    weak(Action::Call, Weak(Device, Store, "written"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn q1_without_host_acquire() {
    weak(Action::Call, Weak(Host, Load, "written"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn q2_without_host_release() {
    weak(Action::Call, Weak(Host, Store, "queue.consumed"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn q2_without_device_acquire() {
    weak(Action::Call, Weak(Device, Load, "queue.consumed"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn q3_without_host_release() {
    weak(Action::CallInSlot, Weak(Host, Store, "written"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn q3_without_device_acquire() {
    weak(Action::CallInSlot, Weak(Device, Load, "written"));
}
