//! NVIDIA: PTX ISA, "Memory Consistency Model", "membar" and "ld.volatile".

use codegen::listing::Function;
use codegen::shared::shared;
use targets::arch::{Arch, Target};

use super::{check, expect_instruction, number};

/// All memory operations and warp operations of a primitive, from `sm_70` on.
const ORDERED: &[(&str, &[&str])] = &[
    ("system_load8", &["ld.relaxed.sys.global.u8"]),
    ("system_load32_relaxed", &["ld.relaxed.sys.global.u32"]),
    ("system_load32_acquire", &["ld.acquire.sys.global.u32"]),
    ("system_load64_relaxed", &["ld.relaxed.sys.global.u64"]),
    ("system_load64_acquire", &["ld.acquire.sys.global.u64"]),
    ("system_store8", &["st.relaxed.sys.global.u8"]),
    ("system_store32_relaxed", &["st.relaxed.sys.global.u32"]),
    ("system_store32_release", &["st.release.sys.global.u32"]),
    ("system_store64_relaxed", &["st.relaxed.sys.global.u64"]),
    ("system_store64_release", &["st.release.sys.global.u64"]),
    ("system_load_pair", &["ld.relaxed.sys.global.v2.u64"]),
    ("system_store_pair", &["st.relaxed.sys.global.v2.u64"]),
    ("system_release_fence", &["fence.acq_rel.sys"]),
    ("system_acquire_fence", &["fence.acq_rel.sys"]),
    ("fence", &["fence.acq_rel.sys"]),
    ("system_fence", &["fence.sc.sys"]),
    ("ticket_add_relaxed", &["atom.relaxed.gpu.global.add.u32"]),
    ("device_load32_relaxed", &["ld.relaxed.gpu.global.u32"]),
    ("device_load32_acquire", &["ld.acquire.gpu.global.u32"]),
    ("device_store32_relaxed", &["st.relaxed.gpu.global.u32"]),
    ("device_or_acquire", &["atom.acquire.gpu.global.or.b32"]),
    ("device_and_release", &["atom.release.gpu.global.and.b32"]),
    ("pause_first", &["nanosleep.u32"]),
    ("pause_late", &["nanosleep.u32"]),
    ("pause", &["nanosleep.u32"]),
];

/// The same below `sm_70`: a store waits for all earlier accesses, later ones wait for a load.
const VOLATILE: &[(&str, &[&str])] = &[
    ("system_load8", &["ld.volatile.global.u8"]),
    ("system_load32_relaxed", &["ld.volatile.global.u32"]),
    (
        "system_load32_acquire",
        &["ld.volatile.global.u32", "membar.sys"],
    ),
    ("system_load64_relaxed", &["ld.volatile.global.u64"]),
    (
        "system_load64_acquire",
        &["ld.volatile.global.u64", "membar.sys"],
    ),
    ("system_store8", &["st.volatile.global.u8"]),
    ("system_store32_relaxed", &["st.volatile.global.u32"]),
    (
        "system_store32_release",
        &["membar.sys", "st.volatile.global.u32"],
    ),
    ("system_store64_relaxed", &["st.volatile.global.u64"]),
    (
        "system_store64_release",
        &["membar.sys", "st.volatile.global.u64"],
    ),
    ("system_load_pair", &["ld.volatile.global.v2.u64"]),
    ("system_store_pair", &["st.volatile.global.v2.u64"]),
    ("system_release_fence", &["membar.sys"]),
    ("system_acquire_fence", &["membar.sys"]),
    ("fence", &["membar.sys"]),
    ("system_fence", &["membar.sys"]),
    ("device_load32_relaxed", &["ld.volatile.global.u32"]),
    (
        "device_load32_acquire",
        &["ld.volatile.global.u32", "membar.gl"],
    ),
    ("device_store32_relaxed", &["st.volatile.global.u32"]),
    ("pause_first", &[]),
    ("pause_late", &[]),
    ("pause", &[]),
];

/// Read-modify-writes at device scope, which has a name from `sm_60` on.
const SCOPED: &[(&str, &[&str])] = &[
    ("ticket_add_relaxed", &["atom.gpu.global.add.u32"]),
    (
        "device_or_acquire",
        &["atom.gpu.global.or.b32", "membar.gl"],
    ),
    (
        "device_and_release",
        &["membar.gl", "atom.gpu.global.and.b32"],
    ),
];

/// And below it.
const BARE: &[(&str, &[&str])] = &[
    ("ticket_add_relaxed", &["atom.global.add.u32"]),
    ("device_or_acquire", &["atom.global.or.b32", "membar.gl"]),
    ("device_and_release", &["membar.gl", "atom.global.and.b32"]),
];

/// On all of them.
const LANES: &[(&str, &[&str])] = &[
    ("space_of", &["isspacep.global", "isspacep.shared"]),
    ("active_lanes", &["activemask.b32"]),
    ("first", &["shfl.sync.idx.b32"]),
    ("any", &["vote.sync.any.pred"]),
    ("ballot", &["vote.sync.ballot.b32"]),
    ("converge", &["bar.warp.sync"]),
    ("lane", &[]),
    ("clock", &[]),
    ("ticks", &[]),
    ("context", &[]),
];

pub(super) fn primitives(arch: &Arch, functions: &[Function]) -> Vec<String> {
    let tables: &[&[_]] = match number(arch) {
        70.. => &[ORDERED, LANES],
        60.. => &[VOLATILE, SCOPED, LANES],
        _ => &[VOLATILE, BARE, LANES],
    };
    let mut wrong = vec![];
    for (name, wants) in tables.iter().copied().flatten() {
        check(functions, name, &mut wrong, |function| {
            let found = shared(Target::Nvptx, function);
            let found: Vec<_> = found.iter().map(|(_, what)| what.as_str()).collect();
            if found == *wants {
                Ok(())
            } else {
                Err(format!("it is {found:?}, it must be {wants:?}"))
            }
        });
    }
    // These instructions accept only addresses of the global space.
    for name in ["system_load32_acquire", "device_or_acquire"] {
        check(functions, name, &mut wrong, |function| {
            expect_instruction(function, &["cvta.to.global.u64"])
        });
    }
    for (name, words) in [
        ("lane", ["mov.u32", "%laneid"]),
        ("clock", ["mov.u64", "%globaltimer"]),
        ("ticks", ["mov.u64", "%clock64"]),
        ("trap", ["trap", ""]),
    ] {
        check(functions, name, &mut wrong, |function| {
            expect_instruction(function, &words)
        });
    }
    if number(arch) >= 70 {
        // From 32 ns up to about a microsecond.
        for (name, nanoseconds) in [("pause_first", ", 32"), ("pause_late", ", 1024")] {
            check(functions, name, &mut wrong, |function| {
                expect_instruction(function, &["mov.b32", nanoseconds])
            });
        }
    }
    wrong
}

/// Each wire publishes with one release, and waits with an acquire. On `native` both are fences, the
/// release before the two rows of the header.
pub(super) fn hand_over(arch: &Arch, functions: &[Function]) -> Vec<String> {
    let mut wrong = vec![];
    for wire in ["6native6Native", "8gcc_ring4Ring", "8gcc_slot6Single"] {
        let Some(function) = functions
            .iter()
            .find(|function| function.name.contains(wire))
        else {
            wrong.push(format!("no function makes the calls on {wire}"));
            continue;
        };
        let found = shared(Target::Nvptx, function);
        let is = |at: usize, op: &str| found.get(at).is_some_and(|(_, is)| is.starts_with(op));
        let count = |what: &dyn Fn(usize) -> bool| (0..found.len()).filter(|at| what(*at)).count();
        let is_new = number(arch) >= 70;
        let (release, acquire) = if wire == "6native6Native" {
            let (fence, row) = if is_new {
                ("fence.acq_rel.sys", "st.relaxed.sys.global.v2.u64")
            } else {
                ("membar.sys", "st.volatile.global.v2.u64")
            };
            let is_release = |at| is(at, fence) && is(at + 1, row) && is(at + 2, row);
            let release = count(&is_release);
            (release, count(&|at| is(at, fence)) - release)
        } else if is_new {
            (
                count(&|at| is(at, "st.release.sys.global")),
                count(&|at| is(at, "ld.acquire.sys.global")),
            )
        } else {
            let acquires = |at: usize| is(at, "ld.volatile.global") && is(at + 1, "membar.sys");
            let releases = |at: usize| {
                is(at, "membar.sys")
                    && is(at + 1, "st.volatile.global")
                    && !at.checked_sub(1).is_some_and(acquires)
            };
            (count(&releases), count(&acquires))
        };
        if release != 1 || acquire == 0 {
            wrong.push(format!(
                "{wire} publishes with {release} releases (one is right) and waits with \
                 {acquire} acquires (none is wrong)"
            ));
        }
    }
    wrong
}
