//! The checker on kernels with more threads than litmus tests have: correct ones are not reported,
//! but are as soon as something is removed from them.

mod fed;

use ptx_emu::{FaultKind, Grid, Machine, Options, Part};

/// A kernel's body; `%d` is device memory, `%m` mapped memory, `%t` and `%b` are thread and
/// block, and `%n` is the thread in the grid.
struct Case {
    name: &'static str,
    body: &'static str,
    grid: u32,
    block: u32,
}

pub(crate) fn machine(check: bool, sm: u32) -> Machine {
    let options = Options {
        sm,
        memory: 64 << 20,
        processors: 2,
        check,
        ..Options::default()
    };
    Machine::new(options).expect("there is memory")
}

pub(crate) fn text(body: &str, target: u32) -> String {
    format!(
        ".version 7.8
.target sm_{target}
.address_size 64
.visible .entry kernel(.param .u64 device, .param .u64 mapped)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>, %t, %b, %n;
    .reg .b64 %x<9>, %d, %m;
    ld.param.u64 %d, [device];
    ld.param.u64 %m, [mapped];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %n, %b, %n, %t;
{body}
    ret;
}}
"
    )
}

/// The report, if there is one.
fn report(machine: &Machine, body: &str, target: u32, (grid, block): (u32, u32)) -> Option<String> {
    let text = text(body, target);
    let part = Part {
        name: "kernel.ptx",
        text: &text,
    };
    let module = machine
        .load(&[part])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("kernel").expect("it is there");
    let memory = machine.memory();
    let device = memory.alloc(4096).expect("there is room");
    let (_, mapped) = memory.alloc_mapped(4096).expect("there is room");
    let grid = Grid {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        shared: 0,
    };
    let params = [device, mapped].map(|address| address.to_le_bytes().to_vec());
    let running = machine
        .launch(&module, kernel, grid, &params, Box::new(|_| {}))
        .expect("it can be launched");
    let result = running.wait(None).expect("it ends");
    memory.free(device);
    memory.free(mapped);
    match result {
        Ok(()) => None,
        Err(fault) => match fault.what {
            FaultKind::Race(report) => Some(report),
            _ => panic!("{fault}\n{text}"),
        },
    }
}

const RIGHT: &[Case] = &[
    Case {
        name: "a warp runs code for one thread",
        body: "
    mov.u32 %r1, 0;
L:
    ld.global.u32 %r0, [%d];
    add.u32 %r0, %r0, 3;
    st.global.u32 [%d], %r0;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, 5;
    @%p0 bra L;",
        grid: 1,
        block: 32,
    },
    Case {
        name: "warps that run code for one thread, and hand on by one lane",
        body: "
    setp.eq.u32 %p1, %t, 0;
    setp.eq.u32 %p0, %b, 1;
    @%p0 bra SECOND;
    st.global.u32 [%d], 7;
    @%p1 st.release.gpu.global.u32 [%d+64], 1;
    ret;
SECOND:
    mov.u32 %r0, 1;
    @%p1 ld.acquire.gpu.global.u32 %r0, [%d+64];
    shfl.sync.idx.b32 %r0, %r0, 0, 31, 0xffffffff;
    setp.eq.u32 %p2, %r0, 0;
    @%p2 bra SECOND;
    ld.global.u32 %r1, [%d];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%d], %r1;",
        grid: 2,
        block: 32,
    },
    Case {
        name: "a barrier between stores and others' loads",
        body: "
    mul.wide.u32 %x0, %t, 4;
    add.u64 %x0, %x0, %d;
    st.global.u32 [%x0], %t;
    bar.sync 0;
    xor.b32 %r0, %t, 65;
    mul.wide.u32 %x1, %r0, 4;
    add.u64 %x1, %x1, %d;
    ld.global.u32 %r1, [%x1];
    bar.sync 0;
    st.global.u32 [%x0], %r1;",
        grid: 1,
        block: 128,
    },
    Case {
        name: "a barrier of some warps, to which others only come",
        body: "
    setp.ge.u32 %p0, %t, 32;
    @%p0 bra READS;
    st.global.u32 [%d], 1;
    bar.arrive 1, 64;
    ret;
READS:
    bar.sync 1, 64;
    ld.global.u32 %r0, [%d];",
        grid: 1,
        block: 64,
    },
    Case {
        name: "a counter",
        body: "
    atom.relaxed.gpu.global.add.u32 %r0, [%d], 1;
    red.relaxed.gpu.global.add.u32 [%d], 1;",
        grid: 6,
        block: 64,
    },
    Case {
        name: "the last block adds up",
        body: "
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
    mul.wide.u32 %x0, %b, 4;
    add.u64 %x0, %x0, %d;
    st.global.u32 [%x0+64], %b;
    membar.gl;
    atom.global.inc.u32 %r0, [%d], 4;
    setp.ne.u32 %p0, %r0, 4;
    @%p0 ret;
    membar.gl;
    ld.global.u32 %r1, [%d+64];
    ld.global.u32 %r2, [%d+68];
    ld.global.u32 %r3, [%d+80];
    st.global.u32 [%d], 0;",
        grid: 5,
        block: 32,
    },
    Case {
        name: "a lock",
        body: "
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
    mov.u32 %r5, 0;
LOCK:
    atom.global.cas.b32 %r0, [%d], 0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra LOCK;
    fence.acq_rel.gpu;
    ld.global.u32 %r1, [%d+128];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%d+128], %r1;
    fence.acq_rel.gpu;
    st.relaxed.gpu.global.u32 [%d], 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p0, %r5, 10;
    @%p0 bra LOCK;",
        grid: 4,
        block: 32,
    },
    Case {
        name: "lanes that meet know what one of them acquired",
        body: "
    setp.eq.u32 %p0, %b, 1;
    @%p0 bra SECOND;
    mul.wide.u32 %x0, %t, 4;
    add.u64 %x0, %x0, %d;
    st.global.u32 [%x0], %t;
    bar.warp.sync 0xffffffff;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.release.gpu.global.u32 [%d+256], 1;
    ret;
SECOND:
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra MEET;
WAIT:
    ld.acquire.gpu.global.u32 %r0, [%d+256];
    setp.eq.u32 %p1, %r0, 0;
    @%p1 bra WAIT;
MEET:
    bar.warp.sync 0xffffffff;
    xor.b32 %r1, %t, 5;
    mul.wide.u32 %x0, %r1, 4;
    add.u64 %x0, %x0, %d;
    ld.global.u32 %r2, [%x0];",
        grid: 2,
        block: 32,
    },
    Case {
        name: "bytes of one word, each of its own thread",
        body: "
    cvt.u64.u32 %x0, %n;
    add.u64 %x0, %x0, %d;
    st.global.u8 [%x0], %t;
    ld.global.u8 %r0, [%x0];",
        grid: 3,
        block: 32,
    },
    Case {
        name: "a release for the device in mapped memory",
        body: "
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
    setp.eq.u32 %p0, %b, 1;
    @%p0 bra SECOND;
    st.global.u32 [%m+64], 1;
    st.release.gpu.global.u32 [%m], 1;
    ret;
SECOND:
    ld.acquire.gpu.global.u32 %r0, [%m];
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra SECOND;
    ld.global.u32 %r0, [%m+64];",
        grid: 2,
        block: 32,
    },
    Case {
        name: "tickets for the device in mapped memory",
        body: "
    atom.relaxed.gpu.global.add.u32 %r0, [%m], 1;",
        grid: 2,
        block: 32,
    },
    Case {
        name: "an mbarrier between stores and others' loads",
        body: "
    .shared .b64 barrier;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared.b64 [barrier], 64;
    bar.sync 0;
    mul.wide.u32 %x0, %t, 4;
    add.u64 %x0, %x0, %d;
    st.global.u32 [%x0], %t;
    mbarrier.arrive.shared.b64 %x2, [barrier];
WAIT:
    mbarrier.try_wait.shared.b64 %p1, [barrier], %x2;
    @!%p1 bra WAIT;
    xor.b32 %r0, %t, 33;
    mul.wide.u32 %x1, %r0, 4;
    add.u64 %x1, %x1, %d;
    ld.global.u32 %r1, [%x1];",
        grid: 1,
        block: 64,
    },
    Case {
        name: "an arrival after a copy, which another warp's test makes happen",
        body: "
    .shared .b64 barrier;
    .shared .b32 word;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared.b64 [barrier], 2;
    bar.sync 0;
    setp.eq.u32 %p1, %t, 32;
    @%p1 st.global.u32 [%d], 7;
    setp.eq.u32 %p2, %t, 32; // arrives
    @%p2 mbarrier.arrive.shared.b64 %x2, [barrier];
    @%p0 cp.async.ca.shared.global [word], [%d+64], 4;
    @%p0 cp.async.mbarrier.arrive.noinc.shared.b64 [barrier];
    setp.ne.u32 %p3, %t, 33;
    @%p3 bra END;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [barrier], 0;
    @!%p1 bra WAIT;
    ld.global.u32 %r1, [%d];
END:
    bar.sync 1;",
        grid: 1,
        block: 64,
    },
    Case {
        name: "the barrier of a cluster between a store and others' copies",
        body: "
    .shared .b32 word;
    setp.eq.u32 %p0, %t, 63;
    @%p0 st.global.u32 [%d], 5;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
    cp.async.ca.shared.global [word], [%d], 4;
    cp.async.wait_all;",
        grid: 1,
        block: 64,
    },
    Case {
        name: "mapped memory that the host reads when all is over",
        body: "
    mul.wide.u32 %x0, %n, 4;
    add.u64 %x0, %x0, %m;
    st.global.u32 [%x0], 5;",
        grid: 4,
        block: 64,
    },
];

#[test]
fn what_is_right_is_not_reported() {
    let machine = machine(true, 90);
    for case in RIGHT {
        for _ in 0..5 {
            let report = report(&machine, case.body, 90, (case.grid, case.block));
            assert_eq!(report, None, "{}", case.name);
        }
    }
}

/// The text to remove from one of them, and the beginning of the report that follows.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "a barrier between stores and others' loads",
        "bar.sync 0;",
        "",
        "race",
    ),
    (
        "a barrier of some warps, to which others only come",
        "bar.sync 1, 64;",
        "",
        "race",
    ),
    (
        "an mbarrier between stores and others' loads",
        "@!%p1 bra WAIT;",
        "",
        "race",
    ),
    (
        "an arrival after a copy, which another warp's test makes happen",
        "%t, 32; // arrives",
        "%t, 34;",
        "race",
    ),
    (
        "the barrier of a cluster between a store and others' copies",
        "barrier.cluster.arrive;\n    barrier.cluster.wait;",
        "",
        "race",
    ),
    ("the last block adds up", "membar.gl;", "", "race"),
    (
        "the last block adds up",
        "membar.gl;",
        "membar.cta;",
        "race",
    ),
    (
        "the last block adds up",
        "setp.ne.u32 %p0, %r0, 4;",
        "setp.ne.u32 %p0, %r0, 3;",
        "race",
    ),
    ("a lock", "fence.acq_rel.gpu;", "fence.acq_rel.cta;", "race"),
    (
        "a lock",
        "fence.acq_rel.gpu;\n    st.relaxed",
        "st.relaxed",
        "race",
    ),
    (
        "a lock",
        "atom.global.cas",
        "atom.relaxed.cta.global.cas",
        "too narrow",
    ),
    (
        "a counter",
        "red.relaxed.gpu",
        "red.relaxed.cta",
        "too narrow",
    ),
    (
        "lanes that meet know what one of them acquired",
        "MEET:\n    bar.warp.sync 0xffffffff;",
        "MEET:\n    shfl.sync.idx.b32 %r3, %t, 0, 31, 0xffffffff;",
        "race",
    ),
    (
        "warps that run code for one thread, and hand on by one lane",
        "st.release.gpu",
        "st.relaxed.gpu",
        "race",
    ),
    (
        "a warp runs code for one thread",
        "st.global.u32 [%d], %r0",
        "st.global.u32 [%d], %t",
        "race",
    ),
    (
        "bytes of one word, each of its own thread",
        "ld.global.u8 %r0, [%x0]",
        "ld.global.u32 %r0, [%d]",
        "race",
    ),
    (
        "a release for the device in mapped memory",
        "ld.acquire.gpu.global",
        "ld.global",
        "race",
    ),
    (
        "a release for the device in mapped memory",
        "@%p0 bra SECOND;\n    st.global",
        "@%p0 ret;\n    st.global",
        "too narrow",
    ),
];

#[test]
fn what_is_missing_is_reported() {
    let machine = machine(true, 90);
    for &(name, from, to, expected) in WRONG {
        let case = RIGHT.iter().find(|case| case.name == name).expect(name);
        assert!(case.body.contains(from), "{name}: {from}");
        let body = case.body.replace(from, to);
        let report = report(&machine, &body, 90, (case.grid, case.block));
        let report = report.unwrap_or_else(|| panic!("{name} without {from}"));
        assert!(
            report.starts_with(expected),
            "{name} without {from}: {report}"
        );
    }
}

#[test]
fn nothing_is_reported_unless_asked_for() {
    let machine = machine(false, 90);
    for &(name, from, to, _) in WRONG {
        let case = RIGHT.iter().find(|case| case.name == name).expect(name);
        let body = case.body.replace(from, to);
        assert_eq!(report(&machine, &body, 90, (case.grid, case.block)), None);
    }
}

#[test]
fn a_report_names_both_instructions_and_threads() {
    let body = "
    setp.eq.u32 %p0, %b, 1;
    @%p0 st.global.u32 [%d], 1;
    @!%p0 ld.global.u32 %r0, [%d];";
    let report = report(&machine(true, 90), body, 90, (2, 1)).expect("they race");
    for part in [
        "race: 4 bytes of device memory at 0x1",
        "store by block 1 thread 0 at kernel.ptx:17: `@%p0 st.global.u32 [%d], 1;`",
        "load by block 0 thread 0 at kernel.ptx:18: `@!%p0 ld.global.u32 %r0, [%d];`",
        "nothing orders them",
    ] {
        assert!(report.contains(part), "{report}");
    }
}

#[test]
fn strong_accesses_of_different_sizes_race() {
    let body = "
    setp.eq.u32 %p0, %b, 1;
    @%p0 st.relaxed.gpu.global.u32 [%d], 1;
    @!%p0 ld.relaxed.gpu.global.u64 %x0, [%d];";
    let report = report(&machine(true, 90), body, 90, (2, 1)).expect("they race");
    assert!(report.starts_with("race"), "{report}");
}

/// Compilers before `sm_70` lower atomic accesses to plain ones next to fences.
#[test]
fn texts_for_old_devices_have_plain_accesses_of_atomic_words() {
    let body = "
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
LOCK:
    atom.global.cas.b32 %r0, [%d], 0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra LOCK;
    membar.gl;
    ld.global.u32 %r1, [%d+128];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%d+128], %r1;
    membar.gl;
    st.global.u32 [%d], 0;";
    for sm in [50, 90] {
        let machine = machine(true, sm);
        assert_eq!(report(&machine, body, 50, (4, 32)), None, "sm_{sm}");
        let unfenced = body.replace("membar.gl;", "");
        assert!(
            report(&machine, &unfenced, 50, (4, 32)).is_some(),
            "sm_{sm}"
        );
    }
    assert!(report(&machine(true, 90), body, 90, (4, 32)).is_some());
}

/// In lock-step, lanes are ordered with the others of their warp.
#[test]
fn warps_in_lock_step_are_ordered() {
    let body = "
    mul.wide.u32 %x0, %t, 4;
    add.u64 %x0, %x0, %d;
    st.global.u32 [%x0], %t;
    xor.b32 %r0, %t, 1;
    mul.wide.u32 %x1, %r0, 4;
    add.u64 %x1, %x1, %d;
    ld.global.u32 %r1, [%x1];";
    assert_eq!(report(&machine(true, 60), body, 60, (1, 32)), None);
    assert!(report(&machine(true, 90), body, 60, (1, 32)).is_some());
}
