//! Counts of what kernels do on the bus.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bus_cost::{Costs, CountCosts, Counts, Traffic};
use ptx_emu::{Grid, Machine, Options, Part};

/// The counts of a kernel of `threads`, whose `%m` is the address of 4 KiB of mapped memory, and whose
/// `%g` is that of device memory. `host` runs meanwhile, with the mapped words.
fn costs(threads: u32, functions: &str, body: &str, host: impl FnOnce(&[AtomicU32])) -> Costs {
    let counted = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&counted);
    let options = Options {
        memory: 1 << 26,
        processors: 1,
        costs: Some(CountCosts {
            entry: "entry".to_owned(),
            sink: Arc::new(move |kernel, costs| {
                assert_eq!(kernel, "test");
                *sink.lock().unwrap() = Some(costs.clone());
            }),
        }),
        ..Options::default()
    };
    let machine = Machine::new(options).unwrap();
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n{functions}\n\
         .entry test(.param .u64 m, .param .u64 g) {{\n\
         .reg .b64 %m, %g, %d<9>;\n.reg .b32 %r<9>, %t;\n.reg .pred %p<9>;\n\
         ld.param.u64 %m, [m];\nld.param.u64 %g, [g];\nmov.u32 %t, %tid.x;\n{body}\n}}"
    );
    let text = &text;
    let module = machine.load(&[Part { name: "t", text }]).unwrap();
    let (words, mapped) = machine.memory().alloc_mapped(4096).unwrap();
    let device = machine.memory().alloc(4096).unwrap();
    let grid = Grid {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        shared: 0,
    };
    let kernel = module.kernel("test").unwrap();
    let params = [mapped, device].map(|address| address.to_le_bytes().to_vec());
    let running = machine
        .launch(&module, kernel, grid, &params, Box::new(|_| {}))
        .unwrap();
    // SAFETY: zeroed words of the block, which lives as long as `machine`; all accesses are atomic.
    host(unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<AtomicU32>(), 1024) });
    let until = Some(Instant::now() + Duration::from_secs(60));
    running.wait(until).expect("it ends").unwrap();
    counted.lock().unwrap().take().expect("it was counted")
}

fn quiet(threads: u32, body: &str) -> Counts {
    costs(threads, "", body, |_| ()).launch
}

#[test]
fn stores_are_grouped_by_instruction() {
    let counts = quiet(
        32,
        "mad.wide.u32 %d0, %t, 16, %m; st.global.v4.u32 [%d0], {%t, %t, %t, %t};
         mad.wide.u32 %d1, %t, 128, %m; st.relaxed.sys.global.u32 [%d1], %t;
         st.global.u32 [%g], %t;",
    );
    let expected = Traffic {
        instructions: 2,
        accesses: 64,
        bytes: 32 * 16 + 32 * 4,
        sectors: 16 + 32,
        lines: 4 + 32,
        transactions: 4 + 32,
    };
    assert_eq!(counts.stores, expected);
    assert_eq!((counts.loads, counts.polls), Default::default());
}

#[test]
fn reads_in_flight_together_are_one_serial_read() {
    let together = "ld.relaxed.sys.global.u32 %r0, [%m]; ld.relaxed.sys.global.u32 %r1, [%m+64];
        add.u32 %r2, %r0, %r1;";
    let counts = quiet(1, together);
    assert_eq!((counts.serial_reads, counts.loads.instructions), (1, 2));
    let chained = "ld.relaxed.sys.global.u32 %r0, [%m]; mad.wide.u32 %d0, %r0, 4, %m;
        ld.relaxed.sys.global.u32 %r1, [%d0+64]; add.u32 %r2, %r0, %r1;";
    assert_eq!(quiet(1, chained).serial_reads, 2);
    // Nothing needs the value.
    assert_eq!(quiet(1, "ld.global.u32 %r0, [%m];").serial_reads, 0);
    // Reads of device memory do not cross the bus.
    let device = "ld.global.u32 %r0, [%g]; add.u32 %r1, %r0, 1;";
    assert_eq!(quiet(1, device).serial_reads, 0);
}

#[test]
fn order_waits_for_reads() {
    let acquires = "ld.acquire.sys.global.u32 %r0, [%m]; ld.relaxed.sys.global.u32 %r1, [%m+64];
        add.u32 %r2, %r0, %r1;";
    let counts = quiet(1, acquires);
    assert_eq!((counts.serial_reads, counts.l1_drops), (2, 1));
    let fence = "ld.relaxed.sys.global.u32 %r0, [%m]; fence.acq_rel.sys;";
    let counts = quiet(1, fence);
    assert_eq!((counts.serial_reads, counts.fences.sys), (1, 1));
    let releases = "st.release.sys.global.u32 [%m], %t; st.release.gpu.global.u32 [%g], %t;
        fence.acq_rel.cta;";
    let fences = quiet(1, releases).fences;
    assert_eq!((fences.sys, fences.gpu, fences.cta), (1, 1, 1));
}

#[test]
fn fences_wait_for_stores_that_have_not_arrived() {
    let waits = |body: &str| {
        let counts = quiet(1, body);
        (counts.fences.sys, counts.store_fences)
    };
    let (store, fence) = ("st.relaxed.sys.global.u32 [%m], %t;", "fence.acq_rel.sys;");
    assert_eq!(waits(&[store, fence, fence].concat()), (2, 1));
    assert_eq!(waits(&[fence, store].concat()), (1, 0));
    assert_eq!(waits(&[store, store, fence, store, fence].concat()), (2, 2));
    // A flag that is released waits for what is stored before, and not for itself.
    let release = "st.release.sys.global.u32 [%m+64], 1;";
    assert_eq!(waits(release), (1, 0));
    assert_eq!(waits(&[store, release].concat()), (1, 1));
    assert_eq!(waits("st.global.u32 [%g], %t; fence.acq_rel.sys;"), (1, 0));
    // A read arrives after the stores before it, and says nothing of those after it.
    let load = "ld.relaxed.sys.global.u32 %r0, [%m+128];";
    let value = "add.u32 %r1, %r0, 1;";
    assert_eq!(waits(&[store, load, value, fence].concat()), (1, 0));
    assert_eq!(waits(&[store, load, fence].concat()), (1, 0));
    assert_eq!(waits(&[load, store, fence].concat()), (1, 1));
    assert_eq!(waits(&[load, store, value, fence].concat()), (1, 1));
    assert_eq!(
        waits("st.relaxed.sys.global.u32 [%m], %t; fence.acq_rel.gpu; fence.acq_rel.sys;"),
        (1, 1)
    );
}

#[test]
fn atomics_are_told_apart_by_memory() {
    let counts = quiet(
        2,
        "atom.acquire.gpu.global.or.b32 %r0, [%g], 1; atom.relaxed.sys.global.add.u32 %r1, [%m], 1;
         add.u32 %r2, %r1, 1;",
    );
    assert_eq!((counts.device_atomics, counts.l1_drops), (1, 1));
    assert_eq!(counts.atomics.accesses, 2);
    assert_eq!(counts.serial_reads, 1);
}

#[test]
fn generic_atomics_on_shared_memory_are_not_counted() {
    let counts = quiet(
        2,
        ".shared .u32 word; .reg .b64 %s; mov.u64 %s, word; cvta.shared.u64 %s, %s;
         atom.relaxed.gpu.add.u32 %r0, [%s], 1; atom.relaxed.gpu.add.u32 %r1, [%g], 1;",
    );
    assert_eq!(counts.device_atomics, 1);
}

#[test]
fn stores_of_other_lanes_do_not_end_polls() {
    // One lane stores to mapped memory, and the other one, which polls, to device memory.
    let counts = quiet(
        2,
        "setp.eq.u32 %p0, %t, 0; selp.b64 %d0, %m, %g, %p0; mov.u32 %r0, 0;
         again: st.global.u32 [%d0], %r0;
         @!%p0 ld.relaxed.sys.global.u32 %r1, [%m+128]; add.u32 %r2, %r1, 1;
         add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 4; @%p1 bra again;",
    );
    assert_eq!(counts.stores.accesses, 4);
    assert_eq!((counts.serial_reads, counts.serial_polls), (0, 4));
}

/// Spins until the host has stored to a word.
const SPIN: &str = "st.relaxed.sys.global.u32 [%m], 1;
    again: atom.acq_rel.sys.global.cas.b32 %r0, [%m+128], 7, 8;
    setp.ne.u32 %p0, %r0, 7; @%p0 bra again;";

#[test]
fn atomics_that_change_nothing_are_repeated() {
    let counts = costs(1, "", SPIN, |words| {
        while words[0].load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        // The kernel tries several times.
        std::thread::sleep(Duration::from_millis(50));
        words[32].store(7, Ordering::Release);
    });
    let counts = counts.launch;
    assert_eq!((counts.fences.sys, counts.l1_drops), (1, 1), "{counts:?}");
    assert_eq!(counts.atomics.instructions, 1);
    assert_eq!(counts.serial_reads, 0);
    assert!(counts.serial_polls > 1, "{counts:?}");
    assert_eq!(counts.polls.instructions + 1, counts.serial_polls);
    // Those that change memory are not.
    let counts = quiet(
        1,
        "mov.u32 %r0, 0;
         again: atom.acq_rel.sys.global.add.u32 %r1, [%m], 1; add.u32 %r2, %r1, 1;
         add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 4; @%p0 bra again;",
    );
    assert_eq!((counts.fences.sys, counts.l1_drops), (4, 4));
    assert_eq!(counts.atomics.instructions, 4);
    assert_eq!((counts.serial_reads, counts.serial_polls), (4, 0));
}

#[test]
fn reads_of_an_ended_function_are_not_awaited_by_the_next_one() {
    // Both have the same registers.
    let functions = ".visible .func reads(.param .b64 at) {
        .reg .b64 %m; .reg .b32 %r<2>;
        ld.param.b64 %m, [at]; ld.relaxed.sys.global.u32 %r0, [%m]; ret;
        }
        .visible .func computes(.param .b64 at) {
        .reg .b64 %m; .reg .b32 %r<2>;
        ld.param.b64 %m, [at]; mov.u32 %r0, 1; add.u32 %r1, %r0, 1; ret;
        }";
    let calls = ".param .b64 a; st.param.b64 [a], %m; call reads, (a); call computes, (a);";
    assert_eq!(costs(1, functions, calls, |_| ()).launch.serial_reads, 0);
    // A fence still waits for them.
    let fenced = format!("{calls} fence.acq_rel.sys;");
    assert_eq!(costs(1, functions, &fenced, |_| ()).launch.serial_reads, 1);
}

/// A call that stores to `[at]`, polls the word 128 bytes after it, and reads one more word.
const ENTRY: &str = ".visible .func entry(.param .b64 at) {
    .reg .b64 %m; .reg .b32 %r<3>; .reg .pred %p;
    ld.param.b64 %m, [at];
    st.release.sys.global.u32 [%m], 1;
    again: ld.acquire.sys.global.u32 %r0, [%m+128];
    setp.eq.u32 %p, %r0, 0;
    @%p bra again;
    ld.relaxed.sys.global.u32 %r1, [%m+132];
    add.u32 %r2, %r1, 1;
    ret;
    }";

/// Answers a call of [`ENTRY`] after the kernel has polled several times, and thereby all later ones.
fn answer(words: &[AtomicU32]) {
    while words[0].load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(50));
    words[32].store(1, Ordering::Release);
}

#[test]
fn lanes_that_call_one_after_another_make_an_exchange_each() {
    let body = "mov.u32 %r0, 0;
        next: setp.ne.u32 %p0, %t, %r0; @%p0 bra skip;
        { .param .b64 a; st.param.b64 [a], %m; call entry, (a); }
        skip: add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 32; @%p1 bra next;";
    let calls = costs(32, ENTRY, body, answer).calls;
    assert_eq!((calls.warp_calls, calls.lane_calls), (32, 32));
    assert_eq!(calls.counts.exchanges, 32, "{calls:?}");
}

#[test]
fn the_first_poll_may_precede_the_loop() {
    let peeled = ENTRY.replace(
        "again:",
        "ld.acquire.sys.global.u32 %r0, [%m+128]; setp.ne.u32 %p, %r0, 0; @%p bra done; again:",
    );
    let peeled = peeled.replace("@%p bra again;", "@%p bra again; done:");
    let body = "{ .param .b64 a; st.param.b64 [a], %m; call entry, (a); }".repeat(2);
    // The second call finds its reply at the first poll.
    let counts = costs(1, &peeled, &body, answer).calls.counts;
    assert_eq!(
        (counts.exchanges, counts.serial_reads),
        (2, 2),
        "{counts:?}"
    );
    assert_eq!(counts.l1_drops, 2);
    // Two reads of a word, without a loop, are no polls.
    let twice = "ld.relaxed.sys.global.u32 %r0, [%m]; ld.relaxed.sys.global.u32 %r1, [%m];
        add.u32 %r2, %r0, %r1;";
    let counts = quiet(1, twice);
    assert_eq!((counts.exchanges, counts.loads.instructions), (0, 2));
}

#[test]
fn an_exchange_begins_with_a_store_or_a_call() {
    let call = "{ .param .b64 a; st.param.b64 [a], %m; call entry, (a); }";
    let exchanges = |functions: &str, body: &str| {
        let costs = costs(2, functions, body, answer);
        (costs.launch.exchanges, costs.calls.counts.exchanges)
    };
    assert_eq!(exchanges(ENTRY, &[call, call].concat()), (2, 2));
    // Calls that store nothing.
    let polls = ENTRY.replace("st.release.sys.global.u32 [%m], 1;", "");
    let store = "st.relaxed.sys.global.u32 [%m], 1;";
    assert_eq!(exchanges(&polls, &[store, call, call].concat()), (2, 2));
    // The round trips of two loads in a loop overlap.
    let two = "st.relaxed.sys.global.u32 [%m], 1;
        again: ld.relaxed.sys.global.u32 %r0, [%m+128]; ld.relaxed.sys.global.u32 %r1, [%m+192];
        or.b32 %r2, %r0, %r1; setp.eq.u32 %p0, %r2, 0; @%p0 bra again;";
    assert_eq!(exchanges("", two), (1, 0));
}

#[test]
fn polls_and_calls_are_counted_apart() {
    let body = ".param .b64 a; st.param.b64 [a], %m; call entry, (a);
        ld.relaxed.sys.global.u32 %r0, [%m+512]; add.u32 %r1, %r0, 1;";
    let costs = costs(4, ENTRY, body, answer);
    let calls = &costs.calls;
    assert_eq!((calls.warp_calls, calls.lane_calls), (1, 4));
    assert_eq!(calls.counts.stores.accesses, 4);
    assert_eq!(calls.counts.stores.transactions, 1);
    assert_eq!(calls.counts.fences.sys, 1);
    assert!(calls.counts.serial_polls > 1, "{calls:?}");
    assert_eq!(calls.counts.serial_polls, calls.counts.polls.instructions);
    assert_eq!(calls.counts.exchanges, 1);
    assert_eq!(calls.counts.l1_drops, 1);
    // The word after the polled one, and outside of the call one more.
    assert_eq!(calls.counts.serial_reads, 1);
    assert_eq!(costs.launch.serial_reads, 2);
    assert_eq!(costs.launch.loads.accesses, 8);
}

#[test]
fn asynchronous_copies_are_reads_that_a_wait_ends() {
    let quiet = |body: &str| costs(1, ".shared .align 16 .b32 to[8];", body, |_| ()).launch;
    let copies = "cp.async.ca.shared.global [to], [%m], 4;
        cp.async.cg.shared.global [to+16], [%m+64], 16;
        cp.async.ca.shared.global [to+4], [%g], 4; cp.async.commit_group;";
    let counts = quiet(copies);
    assert_eq!((counts.loads.instructions, counts.loads.bytes), (2, 20));
    assert_eq!(counts.serial_reads, 0);
    let awaited = [copies, "cp.async.wait_group 0;"].concat();
    assert_eq!(quiet(&awaited).serial_reads, 1);
    assert_eq!(quiet(&awaited.repeat(2)).serial_reads, 2);
}
