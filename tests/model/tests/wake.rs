//! The wake word: a host that falls asleep while requests arrive. A lost wake-up is a deadlock,
//! which loom reports.

use core::mem::offset_of;
use std::sync::Arc;

use loom::sync::{Condvar, Mutex};
use model::Access::Fence;
use model::Side::{Device, Host};
use model::{Memory, Runs, SlotRows, Team, View, Weak, add_cells, explore, pause};
use revoff_device::claims::Claim;
use revoff_device::wake::wake_if_sleeping;
use revoff_device::wire::gcc_slot as slot_producer;
use revoff_device::wire::native::{LaneRows, Producer};
use revoff_host::model::{Poll, gcc_slot, native, wake};
use shared_abi::wire::WakeWord;
use shared_abi::wire::claims::ClaimsHeader;
use shared_abi::wire::gcc_slot::GccSlot;
use shared_abi::wire::native::{HEADER_ROWS, RequestMeta};

/// The wake word and the condition variable of the host.
struct Sleep {
    words: (View, View),
    woken: Mutex<bool>,
    wake: Condvar,
}

impl Sleep {
    fn new(weak: Option<Weak>) -> Arc<Self> {
        Arc::new(Self {
            words: Memory::new(weak)
                .flag32(offset_of!(WakeWord, sleeping), "sleeping", 0)
                .share(),
            woken: Mutex::new(false),
            wake: Condvar::new(),
        })
    }

    fn woken(&self) -> loom::sync::MutexGuard<'_, bool> {
        match self.woken.lock() {
            Ok(woken) => woken,
            Err(_) => panic!("another thread has failed"),
        }
    }

    /// Wakes the host if it sleeps, as a device thread.
    fn wake_if_sleeping(&self) {
        wake_if_sleeping(&self.words.0, || {
            *self.woken() = true;
            self.wake.notify_one();
        });
    }

    /// Sleeps after a last poll, as the host.
    fn sleep<R>(&self, poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        let mut found = Poll::Empty;
        let poll = || {
            found = poll();
            !found.is_empty()
        };
        wake::sleep(&self.words.1, poll, || {
            let mut woken = self.woken();
            while !*woken {
                woken = match self.wake.wait(woken) {
                    Ok(woken) => woken,
                    Err(_) => panic!("another thread has failed"),
                };
            }
        });
        *self.woken() = false;
        found
    }
}

fn join(threads: Vec<loom::thread::JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            panic!("a thread failed");
        }
    }
}

/// The last sequence number of each slot of the native wire.
const SEQ: u32 = 7;

/// Each of `callers` publishes once, in its own slot, and ends; one thread takes the requests. So
/// no thread runs after a lost wake-up.
fn run_native(callers: u32, weak: Option<Weak>) {
    const LANES: u32 = 1;
    let rows = SlotRows {
        lanes: LANES,
        count: 1,
        request: HEADER_ROWS,
        reply: 0,
    };
    let mut memory = Memory::new(weak);
    for slot in 0..callers {
        memory = add_cells(memory, slot, rows, |_| SEQ);
    }
    let (system, host) = memory.share();
    let sleep = Sleep::new(weak);
    let mut threads = Vec::new();
    for slot in 0..callers {
        let producer = Producer::new(system.clone(), LANES);
        let sleep = Arc::clone(&sleep);
        threads.push(loom::thread::spawn(move || {
            let at = LaneRows {
                claim: Claim { slot, seq: SEQ + 1 },
                rank: 0,
                count: 1,
            };
            let meta = RequestMeta::new(1, HEADER_ROWS, false, 0);
            let mut rows = producer.request(at);
            rows.push([meta.0, 0]);
            rows.push([slot, 0]);
            sleep.wake_if_sleeping();
        }));
    }
    let warps = Arc::new(native::Warps::new(callers, LANES));
    let team = Team::new(native::Poller::new(host.clone(), warps, SEQ), callers);
    team.work(
        native::Poller::poll,
        |poller, _| sleep.sleep(|| poller.poll_all()),
        |request| assert!(request.func < callers.into()),
    );
    join(threads);
}

/// One caller calls twice, two threads serve: one may complete a request while the other is about
/// to sleep.
fn run_gcc_slot(weak: Option<Weak>) {
    let (system, host) = Memory::new(weak)
        .flag64(offset_of!(GccSlot, func), "func", 0)
        .data64(offset_of!(GccSlot, mapnum), "mapnum", 0)
        .data64(offset_of!(GccSlot, addrs), "addrs", 0)
        .data64(offset_of!(GccSlot, sizes), "sizes", 0)
        .data64(offset_of!(GccSlot, kinds), "kinds", 0)
        .data32(offset_of!(GccSlot, dev_num), "dev_num", 0)
        .share();
    let (device, _) = Memory::new(weak)
        .flag32(offset_of!(ClaimsHeader, slot_lock), "lock", 0)
        .share();
    let sleep = Sleep::new(weak);
    let team = Arc::new(Team::new(gcc_slot::Poller::new(host.clone()), 2));
    let caller = {
        let sleep = Arc::clone(&sleep);
        loom::thread::spawn(move || {
            for func in 1..3 {
                slot_producer::lock(&device, pause);
                let request = GccSlot {
                    func,
                    mapnum: 0,
                    addrs: 0,
                    sizes: 0,
                    kinds: 0,
                    dev_num: 0,
                    reserved: 0,
                };
                slot_producer::publish(&system, &request);
                sleep.wake_if_sleeping();
                slot_producer::wait(&system, pause);
                slot_producer::unlock(&device);
            }
        })
    };
    let work = |team: &Team<gcc_slot::Poller<View>>, sleep: &Sleep, host: &View| {
        team.work(
            gcc_slot::Poller::poll,
            |poller, _| sleep.sleep(|| poller.poll()),
            |_| gcc_slot::complete(host),
        );
    };
    let server = {
        let (team, sleep, host) = (Arc::clone(&team), Arc::clone(&sleep), host.clone());
        loom::thread::spawn(move || work(&team, &sleep, &host))
    };
    work(&team, &sleep, &host);
    join(vec![caller, server]);
}

#[test]
fn one_caller_wakes_the_host() {
    explore("wake word, one caller", Runs::All, || run_native(1, None));
}

#[test]
fn two_callers_wake_the_host() {
    explore("wake word, two callers", Runs::Preemptions(2), || {
        run_native(2, None)
    });
}

#[test]
fn completion_races_with_sleep() {
    explore(
        "wake word, gcc-slot, two servers",
        Runs::Preemptions(2),
        || run_gcc_slot(None),
    );
}

#[test]
#[should_panic(expected = "deadlock")]
fn w1_without_device_fence() {
    explore("wake word, weakened", Runs::All, || {
        run_native(1, Some(Weak(Device, Fence, "fence")));
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn w1_without_host_fence() {
    explore("wake word, weakened", Runs::All, || {
        run_native(1, Some(Weak(Host, Fence, "fence")));
    });
}
