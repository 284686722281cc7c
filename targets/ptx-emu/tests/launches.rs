//! Whole launches: how they end, even if device code or the host misbehaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ptx_emu::{FaultKind, Grid, LaunchError, Machine, Module, Options, Part, Running};

/// Longer than any of these takes.
const LONG: Duration = Duration::from_secs(60);

fn machine() -> Machine {
    machine_with(1)
}

fn machine_with(processors: u32) -> Machine {
    let options = Options {
        memory: 1 << 26,
        processors,
        patience: Duration::from_millis(200),
        ..Options::default()
    };
    Machine::new(options).expect("addresses")
}

/// A module with the kernel `test`, which has `%o`, the address of 4 KiB.
fn module(machine: &Machine, before: &str, body: &str) -> Arc<Module> {
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n{before}\n\
         .extern .func (.param .b64 z) malloc (.param .b64 n);\n\
         .extern .func free (.param .b64 p);\n\
         .extern .func (.param .b32 n) vprintf (.param .b64 f, .param .b64 a);\n\
         .entry test(.param .u64 out) {{\n\
         .reg .b64 %o, %d<9>;\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %o, [out];\n{body}\n}}"
    );
    let text = &text;
    machine.load(&[Part { name: "t", text }]).expect("good PTX")
}

fn start(machine: &Machine, module: &Arc<Module>, threads: u32) -> Running {
    let out = machine.memory().alloc(4096).expect("room");
    let kernel = module.kernel("test").expect("is there");
    let grid = Grid {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        shared: 0,
    };
    let params = [out.to_le_bytes().to_vec()];
    let running = machine.launch(module, kernel, grid, &params, Box::new(|_| {}));
    running.expect("a good launch")
}

/// How a kernel ends.
#[track_caller]
fn run(before: &str, body: &str, threads: u32) -> Result<(), FaultKind> {
    let machine = machine();
    let module = module(&machine, before, body);
    let running = start(&machine, &module, threads);
    let ended = running.wait(Some(Instant::now() + LONG)).expect("it ends");
    ended.map_err(|fault| fault.what)
}

#[test]
fn a_barrier_opens_when_it_is_complete() {
    // Four warps, two at a time, of which one is late.
    let late = "mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.ne.u32 %p0, %r1, 3;
        @%p0 bra go; mov.u32 %r2, 0;
        more: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 20000; @%p1 bra more;
        go: barrier.sync 1, 64; exit;";
    assert_eq!(run("", late, 128), Ok(()));
}

/// Runs a kernel that the host answers: `answers` gets the kernel's output words, in mapped memory,
/// once the first of them is set. Returns the words at the end.
fn run_with_host(body: &str, answers: impl Fn(&[AtomicU32; 4])) -> [u32; 4] {
    let machine = machine();
    let module = module(&machine, "", body);
    let (host, device) = machine.memory().alloc_mapped(4096).expect("room");
    // SAFETY: the block has room for the words, and everybody uses atomic operations or the
    // like, until the kernel has ended.
    let words = unsafe { host.cast::<[AtomicU32; 4]>().as_ref() };
    let kernel = module.kernel("test").expect("is there");
    let grid = Grid {
        grid: [1, 1, 1],
        block: [2, 1, 1],
        shared: 0,
    };
    let params = [device.to_le_bytes().to_vec()];
    let running = machine.launch(&module, kernel, grid, &params, Box::new(|_| {}));
    let running = running.expect("a good launch");
    while words[0].load(Ordering::Acquire) == 0 && !running.is_over() {
        std::thread::yield_now();
    }
    answers(words);
    let until = Some(Instant::now() + LONG);
    assert_eq!(running.wait(until).expect("it ends"), Ok(()));
    words.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// Lane 1 asks the host at once, and lane 0 where the lanes reconverge; `wait` is between two
/// polls.
fn asks_the_host(wait: &str) -> String {
    format!(
        "mov.u32 %r0, %laneid; setp.eq.u32 %p0, %r0, 0;
        @%p0 bra done; st.volatile.global.u32 [%o], 1;
        ask: {wait} ld.acquire.sys.global.u32 %r1, [%o+4]; setp.eq.u32 %p1, %r1, 0;
        @%p1 bra ask;
        done: activemask.b32 %r2; st.global.u32 [%o+8], %r2;
        st.release.sys.global.u32 [%o+12], 1; exit;"
    )
}

#[test]
fn a_lane_that_waits_for_the_host_is_waited_for() {
    for wait in ["", "nanosleep.u32 500;", "nanosleep.u32 100000;"] {
        let words = run_with_host(&asks_the_host(wait), |words| {
            // Long enough for millions of polls.
            std::thread::sleep(Duration::from_secs(1));
            words[1].store(1, Ordering::Release);
        });
        assert_eq!(words[2], 3, "lanes that met: {wait}");
    }
}

/// Block 1 counts, and each lane of block 0 compares what it loads with what lane 0 loads.
#[test]
fn lanes_that_load_from_one_address_get_one_value() {
    let machine = machine_with(2);
    let body = "mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bra look;
        mov.u32 %r1, 0;
        count: st.volatile.global.u32 [%o], %r1; add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 300000; @%p1 bra count;
        st.volatile.global.u32 [%o+4], 1; exit;
        look: ld.volatile.global.u32 %r1, [%o];
        shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff; setp.ne.u32 %p1, %r1, %r2;
        @%p1 st.volatile.global.u32 [%o+8], 1;
        ld.volatile.global.u32 %r2, [%o+4]; setp.eq.u32 %p1, %r2, 0; @%p1 bra look; exit;";
    let module = module(&machine, "", body);
    let (host, device) = machine.memory().alloc_mapped(4096).expect("room");
    let grid = Grid {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        shared: 0,
    };
    let kernel = module.kernel("test").expect("is there");
    let params = [device.to_le_bytes().to_vec()];
    let running = machine.launch(&module, kernel, grid, &params, Box::new(|_| {}));
    let running = running.expect("a good launch");
    let until = Some(Instant::now() + LONG);
    assert_eq!(running.wait(until).expect("it ends"), Ok(()));
    // SAFETY: the kernel has ended, and the block has room for three words.
    let words = unsafe { host.cast::<[u32; 3]>().read() };
    assert_eq!(words, [299_999, 1, 0]);
}

#[test]
fn the_host_may_wait_for_a_lane_of_the_same_warp() {
    run_with_host(&asks_the_host("nanosleep.u32 500;"), |words| {
        let until = Instant::now() + LONG;
        while words[3].load(Ordering::Acquire) == 0 && Instant::now() < until {
            std::thread::yield_now();
        }
        let published = words[3].load(Ordering::Acquire);
        assert_eq!(published, 1, "lane 0 has not published");
        words[1].store(1, Ordering::Release);
    });
}

#[test]
fn threads_that_end_are_waited_for_no_more() {
    // One lane ends, after the others of its warp have come to the barrier.
    let ends = "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bra wait;
        barrier.sync 1, 64; exit;
        wait: mov.u32 %r2, 0;
        more: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9000; @%p1 bra more; exit;";
    assert_eq!(run("", ends, 64), Ok(()));
}

#[test]
fn long_computations_are_no_deadlocks() {
    // The counter is the caller's; the callee is the same each time.
    let before = ".func nothing () { .reg .b32 %x; mov.u32 %x, 7; ret; }";
    let counts = "mov.u32 %r0, 0;
        more: call.uni nothing; add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 1500000;
        @%p0 bra more; exit;";
    assert_eq!(run(before, counts, 32), Ok(()));
}

#[test]
fn device_code_frees_what_it_allocated_and_nothing_else() {
    let free = |address: &str| {
        format!("{{ .param .b64 p; st.param.b64 [p], {address}; call.uni free, (p); }}")
    };
    let malloc = "{ .param .b64 n; .param .b64 z; st.param.b64 [n], 4;
        call.uni (z), malloc, (n); ld.param.b64 %d0, [z]; }";
    assert_eq!(run("", &free("0"), 1), Ok(()));
    assert_eq!(run("", &format!("{malloc} {}", free("%d0")), 1), Ok(()));
    let twice = format!("{malloc} {} {}", free("%d0"), free("%d0"));
    for body in [free("%o"), free("12345"), twice] {
        let fault = run("", &body, 1).expect_err(&body);
        assert!(matches!(fault, FaultKind::BadFree { .. }), "{fault}");
    }
}

#[test]
fn memory_ends_where_it_was_asked_to_end() {
    let before = ".global .u32 one; .global .u32 two;";
    let at = |offset: u32| format!("mov.u64 %d0, one; st.global.u32 [%d0+{offset}], 9;");
    assert_eq!(run(before, &at(0), 1), Ok(()));
    let fault = run(before, &at(4), 1).expect_err("beyond");
    assert!(matches!(fault, FaultKind::Unreachable { .. }), "{fault}");
    // Libraries search for the end of a text like this.
    let word = "mov.u64 %d0, one; ld.global.u64 %d1, [%d0];";
    assert_eq!(run(before, word, 1), Ok(()));
}

#[test]
fn what_is_printed_may_be_wide() {
    let before = ".global .align 1 .b8 f[9] = {37, 55, 48, 48, 48, 48, 100, 0, 0};";
    let print = "cvta.global.u64 %d0, %o;
        { .param .b64 f1; .param .b64 a1; .param .b32 n1; mov.u64 %d1, f;
        cvta.global.u64 %d1, %d1; st.param.b64 [f1], %d1; st.param.b64 [a1], %d0;
        call.uni (n1), vprintf, (f1, a1); }";
    assert_eq!(run(before, print, 1), Ok(()));
}

#[test]
fn a_panic_of_others_ends_nothing_else() {
    let machine = machine();
    let module = module(&machine, "", "exit;");
    let kernel = module.kernel("test").expect("is there");
    let grid = Grid {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        shared: 0,
    };
    let params = [vec![0; 8]];
    let ended = Box::new(|_| std::panic::resume_unwind(Box::new("of others")));
    let running = machine.launch(&module, kernel, grid, &params, ended);
    let until = Some(Instant::now() + LONG);
    assert_eq!(running.expect("a good launch").wait(until), Some(Ok(())));
    let next = start(&machine, &module, 32);
    assert_eq!(next.wait(Some(Instant::now() + LONG)), Some(Ok(())));
}

#[test]
fn threads_that_wait_for_one_that_faulted_are_stopped() {
    let waits = "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 trap;
        more: add.u32 %r1, %r1, 1; bra more;";
    assert_eq!(run("", waits, 64), Err(FaultKind::Trap));
}

#[test]
fn what_is_stopped_has_not_ended_well() {
    let machine = machine();
    let module = module(&machine, "", "for_ever: bra for_ever;");
    let running = start(&machine, &module, 32);
    assert_eq!(running.wait(Some(Instant::now())), None);
    running.stop();
    let ended = running.wait(Some(Instant::now() + LONG)).expect("it ends");
    assert_eq!(ended.expect_err("no end").what, FaultKind::Stopped);
}

#[test]
fn impossible_launches_are_refused() {
    let machine = machine();
    let (one, two) = (module(&machine, "", "exit;"), module(&machine, "", "exit;"));
    let kernel = |module: &Module| module.kernel("test").expect("is there");
    let params = [vec![0; 8]];
    let launch = |kernel, grid: [u32; 3], block: [u32; 3]| {
        let grid = Grid {
            grid,
            block,
            shared: 0,
        };
        let launched = machine.launch(&one, kernel, grid, &params, Box::new(|_| {}));
        launched.map(drop)
    };
    assert_eq!(
        launch(kernel(&two), [1; 3], [1; 3]),
        Err(LaunchError::OtherModule)
    );
    for (grid, block) in [
        ([u32::MAX; 3], [1; 3]),
        ([1; 3], [u32::MAX; 3]),
        ([1, 70_000, 1], [1; 3]),
        ([1; 3], [1025, 1, 1]),
        ([0, 1, 1], [1; 3]),
    ] {
        let refused = launch(kernel(&one), grid, block);
        assert!(matches!(refused, Err(LaunchError::Bounds(_))), "{grid:?}");
    }
    assert_eq!(launch(kernel(&one), [1; 3], [1024, 1, 1]), Ok(()));
}

#[test]
fn a_fault_says_where_it_is_once() {
    let machine = machine();
    let text = r#".version 7.0
.target sm_70
.address_size 64
.file 1 "src/sum.c", 1700000000, 100
.file 2 "src/inner.h"
.visible .func inner() {
    .loc 2 7 3
    trap;
}
.visible .entry test() {
    .loc 1 12 1
    call inner;
    .loc 1 13 1
    trap;
}
.visible .entry other() {
    trap;
}"#;
    let part = Part {
        name: "sum.ptx",
        text,
    };
    let module = machine.load(&[part]).expect("it can be loaded");
    let fault = |name: &str| {
        let kernel = module.kernel(name).expect("is there");
        let grid = Grid {
            grid: [1, 1, 1],
            block: [1, 1, 1],
            shared: 0,
        };
        let running = machine.launch(&module, kernel, grid, &[], Box::new(|_| {}));
        let ended = running
            .expect("it can be launched")
            .wait(Some(Instant::now() + LONG));
        ended.expect("in time").expect_err("it traps")
    };
    assert_eq!(
        fault("test").to_string(),
        "kernel `test`, block (0, 0, 0), thread (0, 0, 0), in `inner`, src/inner.h:7, sum.ptx:8: \
         `trap;`: trap"
    );
    // Lines of another function do not count.
    assert_eq!(
        fault("other").to_string(),
        "kernel `other`, block (0, 0, 0), thread (0, 0, 0), sum.ptx:17: `trap;`: trap"
    );
}
