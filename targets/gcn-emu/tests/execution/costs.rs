//! Counts of what kernels do on the bus.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bus_cost::{Costs, CountCosts, Counts, Traffic};
use gcn_emu::Arch;

use crate::PROLOGUE;
use crate::device::{Device, Shape, compile};

/// Operations of system scope in C, and of the device's.
const OPERATIONS: &str = "
#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define DEVICE __MEMORY_SCOPE_DEVICE
#define SYSTEM __MEMORY_SCOPE_SYSTEM
#define load(at, order) __scoped_atomic_load_n(at, order, SYSTEM)
#define store(at, value, order) __scoped_atomic_store_n(at, value, order, SYSTEM)
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
";

/// The counts of a kernel of so many lanes, with `entry` as the counted function. `m` is 4 KiB of mapped
/// memory, and `g` of device memory. `host` runs meanwhile, with a word of mapped memory by its number.
fn costs(
    arch: Arch,
    lanes: u32,
    (functions, body): (&str, &str),
    entry: &str,
    host: impl for<'d> FnOnce(&'d dyn Fn(usize) -> &'d AtomicU32),
) -> Option<Costs> {
    let source = format!(
        "{PROLOGUE}{OPERATIONS}{functions}
         kernel void k(global u32 *m, global u32 *g) {{ {body} }}"
    );
    let object = compile(arch, "c", &source, &["-std=c23"])?;
    let counted = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&counted);
    let device = Device::counting(
        arch,
        CountCosts {
            entry: entry.to_owned(),
            sink: Arc::new(move |kernel, costs| {
                assert_eq!(kernel, "test");
                *sink.lock().unwrap() = Some(costs.clone());
            }),
        },
    );
    let kernel = device.load(&object, "k");
    let (mapped, own) = (device.mapped(1024), device.memory(&[0; 1024]));
    let shape = Shape {
        private_bytes: kernel.descriptor().private_bytes,
        ..Shape::lanes(lanes)
    };
    let running = device.start(&kernel, shape, &[mapped, own]);
    let running = running.expect("a valid launch");
    host(&|at| device.word(mapped + 4 * at as u64));
    let result = running.wait(None).expect("it ends");
    result.unwrap_or_else(|fault| panic!("{arch}: {fault}"));
    let found = counted.lock().unwrap().take();
    Some(found.expect("it was counted"))
}

/// Checks the counts of a kernel on all architectures.
fn each(lanes: u32, body: &str, check: impl Fn(Arch, Counts)) {
    for arch in Arch::ALL {
        let Some(costs) = costs(arch, lanes, ("", body), "none", |_| ()) else {
            return;
        };
        assert_eq!(costs.calls.warp_calls, 0);
        check(arch, costs.launch);
    }
}

#[test]
fn stores_are_grouped_by_instruction() {
    let body =
        "*(global u32x4 *)(m + 4 * lane()) = lane(); m[32 * lane()] = lane(); g[lane()] = 1;";
    each(32, body, |arch, counts| {
        let expected = Traffic {
            instructions: 2,
            accesses: 64,
            bytes: 32 * 16 + 32 * 4,
            sectors: 16 + 32,
            lines: 4 + 32,
            transactions: 4 + 32,
        };
        assert_eq!(counts.stores, expected, "{arch}");
        // Arguments are the launch's.
        let reads = (counts.loads, counts.polls, counts.serial_reads);
        assert_eq!(reads, Default::default(), "{arch}");
    });
}

#[test]
fn reads_in_flight_together_are_one_serial_read() {
    let together = "g[0] = load(m, RELAXED) + load(m + 64, RELAXED);";
    each(1, together, |arch, counts| {
        let found = (counts.serial_reads, counts.loads.instructions);
        assert_eq!(found, (1, 2), "{arch}");
    });
    let chained = "g[0] = load(m + 64 + load(m, RELAXED), RELAXED);";
    each(1, chained, |arch, counts| {
        assert_eq!(counts.serial_reads, 2, "{arch}");
    });
    let device = "g[0] = load(g + 1, RELAXED);";
    each(1, device, |arch, counts| {
        assert_eq!(counts.serial_reads, 0, "{arch}");
    });
}

#[test]
fn a_release_waits_for_stores_that_have_not_arrived() {
    let waits = |body: &str, expected: u64| {
        each(1, body, |arch, counts| {
            let found = (counts.store_fences, counts.fences.sys >= expected);
            assert_eq!(found, (expected, true), "{arch}: `{body}`: {counts:?}");
        });
    };
    waits("store(m, 1, RELAXED); store(m + 64, 1, RELEASE);", 1);
    // A flag that is released waits for what is stored before, and not for itself.
    waits("store(m, 1, RELEASE);", 0);
    waits("store(g, 1, RELAXED); store(m, 1, RELEASE);", 0);
    // So does a release of the device's scope: its wait is the same.
    let device = "store(m, 1, RELAXED); __scoped_atomic_store_n(g, 1, RELEASE, DEVICE);";
    waits(device, 1);
    // A read arrives after the stores before it.
    let reads = "store(m, 1, RELAXED); g[1] = load(m + 64, RELAXED); store(m + 128, 1, RELEASE);";
    waits(reads, 0);
    let twice = "store(m, 1, RELAXED); store(m + 64, 1, RELEASE); store(m + 128, 1, RELEASE);";
    waits(twice, 2);
}

#[test]
fn a_read_by_one_lane_arrives_after_stores_by_all() {
    // The lane that reads publishes something later, as in a call to the host.
    let body = "store(m + lane(), 1, RELAXED);
        if (lane() == 0) { g[1] = load(m + 64, RELAXED); store(m + 128, 1, RELEASE); }";
    each(32, body, |arch, counts| {
        assert_eq!(counts.store_fences, 0, "{arch}: {counts:?}");
    });
}

#[test]
fn acquires_invalidate_a_cache() {
    let body = "u32 one = load(m, ACQUIRE); g[0] = one + load(m + 64, RELAXED);";
    each(1, body, |arch, counts| {
        let found = (counts.serial_reads, counts.l1_drops);
        assert_eq!(found, (2, 1), "{arch}");
    });
}

#[test]
fn atomics_are_told_apart_by_memory() {
    let body = "__scoped_atomic_fetch_or(g, 1, RELAXED, DEVICE);
        g[1] = __scoped_atomic_fetch_add(m, lane(), RELAXED, SYSTEM);";
    each(2, body, |arch, counts| {
        assert_eq!(counts.device_atomics, 1, "{arch}");
        // The compiler may combine those of the lanes.
        assert_eq!(counts.atomics.instructions, 1, "{arch}");
        assert_eq!(counts.serial_reads, 1, "{arch}");
    });
}

/// A call that publishes two words and polls for the answer, and then reads one more.
const CALL: &str = "
__attribute__((noinline)) u32 inner(global u32 *m) { return load(m + 129, RELAXED); }
__attribute__((noinline)) u32 entry(global u32 *m) {
    store(m + 32, 1, RELAXED);
    store(m, 1, RELEASE);
    while (load(m + 128, ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
    return inner(m);
}";

/// Answers a call after the kernel has polled several times, and thereby all later ones.
fn answer<'d>(word: &'d dyn Fn(usize) -> &'d AtomicU32) {
    while word(0).load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(20));
    word(128).store(1, Ordering::Release);
}

#[test]
fn calls_are_counted_apart() {
    for arch in Arch::ALL {
        // Functions wait for earlier stores where they begin.
        let body = "g[lane()] = entry(m) + entry(m); store(m + 256, 1, RELAXED);";
        let Some(costs) = costs(arch, 4, (CALL, body), "entry", answer) else {
            return;
        };
        let calls = &costs.calls;
        assert_eq!((calls.warp_calls, calls.lane_calls), (2, 8), "{arch}");
        let counts = &calls.counts;
        assert_eq!(counts.stores.transactions, 4, "{arch}: {counts:?}");
        assert_eq!(counts.store_fences, 2, "{arch}: {counts:?}");
        assert!(counts.serial_polls > 2, "{arch}: {counts:?}");
        assert_eq!(counts.serial_polls, counts.polls.instructions, "{arch}");
        assert_eq!(counts.exchanges, 2, "{arch}: {counts:?}");
        assert_eq!(counts.l1_drops, 2, "{arch}: {counts:?}");
        assert_eq!(counts.serial_reads, 2, "{arch}: {counts:?}");
        assert_eq!(costs.launch.stores.transactions, 5, "{arch}");
    }
}

#[test]
fn a_kernel_may_be_the_counted_function() {
    for arch in Arch::ALL {
        let body = "g[lane()] = entry(m);";
        let Some(costs) = costs(arch, 4, (CALL, body), "k", answer) else {
            return;
        };
        let calls = &costs.calls;
        assert_eq!((calls.warp_calls, calls.lane_calls), (1, 4), "{arch}");
        assert_eq!(calls.counts, costs.launch, "{arch}");
        assert_eq!(costs.launch.exchanges, 1, "{arch}");
    }
}
