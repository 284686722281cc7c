//! Calls of whole warps on `native`.

extern crate std;

use core::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec::Vec;
use std::{panic, thread};

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;

use super::serving::{CHANGE, Serving, byte_of, status_of};
use super::{Call, Native, Wire};
use crate::arch::Spaces;
use crate::arch::simulated::{Scheduling, replying_when, run};
use crate::call::Args;

/// Calls that each lane makes.
const CALLS: u32 = 3;

/// The lanes whose ranges do not fit a slot.
type NeedsExtent = fn(u32) -> bool;

const NONE: NeedsExtent = |_| false;
const SOME: NeedsExtent = |lane| lane % 3 == 1;
const ALL: NeedsExtent = |_| true;

/// The sizes of a test.
#[derive(Clone, Copy)]
struct Case {
    warps: u32,
    lanes: u32,
    slots: u32,
    blocks: u32,
    needs_extent: NeedsExtent,
    /// The number of requests that the host collects before it replies.
    at_once: u32,
}

/// Makes the call `func` from this lane, with a range of `size` bytes on its stack.
fn call(serving: &Arc<Serving>, func: u64, home_group: u32, size: usize) {
    // Whole words, as a stack has them.
    let mut stack = std::vec![0u64; size / 8];
    let bytes = stack.as_mut_ptr().cast::<u8>();
    for i in 0..size {
        // SAFETY: `i` is inside.
        unsafe { bytes.add(i).write(byte_of(func, i)) };
    }
    let (addr, size, kind) = (bytes as u64, size as u64, MapKind::TOFROM.0);
    // SAFETY: one element each, and a range of that size.
    let args = unsafe { Args::new(1, &raw const addr, &raw const size, &raw const kind) };
    let published = Arc::clone(serving);
    replying_when(move || published.has(func));
    let status = Cell::new(Status::NONE);
    Native::call(
        &serving.runtime(),
        Call {
            func,
            args,
            orders_memory: true,
            device_num: 0,
            home_group,
            launch: 0,
            spaces: Spaces::with_stack(addr, addr + size),
        },
        |result| status.set(result),
    );
    assert_eq!(status.get(), status_of(func), "{func:x}");
    for i in 0..size as usize {
        // SAFETY: `i` is inside.
        let byte = unsafe { bytes.add(i).read() };
        assert_eq!(byte, byte_of(func, i) ^ CHANGE, "byte {i} of {func:x}");
    }
}

fn func(warp: u32, lane: u32, call: u32) -> u64 {
    u64::from(warp << 16 | lane << 8 | call) + 1
}

/// The calls of one warp.
fn launch(scheduling: Scheduling, case: Case, serving: &Arc<Serving>, warp: u32) {
    run(scheduling, case.lanes, u64::from(warp) + 1, |lane| {
        // More than a slot has room for, or not.
        let size = if (case.needs_extent)(lane) { 1000 } else { 40 };
        for n in 0..CALLS {
            call(serving, func(warp, lane, n), warp, size);
        }
    });
}

fn check(scheduling: Scheduling, case: Case) {
    let serving = &Arc::new(Serving::new(
        case.slots,
        case.lanes,
        case.blocks,
        case.at_once,
    ));
    let ends = thread::scope(|scope| {
        scope.spawn(|| serving.serve());
        let warps: Vec<_> = (0..case.warps)
            .map(|warp| scope.spawn(move || launch(scheduling, case, serving, warp)))
            .collect();
        // Joins all warps before stopping the host, even if one fails.
        let ends: Vec<_> = warps.into_iter().map(|warp| warp.join()).collect();
        serving.stop();
        ends
    });
    for end in ends {
        end.unwrap_or_else(|why| panic::resume_unwind(why));
    }
    serving.check();
    let calls = (0..case.warps)
        .flat_map(|w| (0..case.lanes).flat_map(move |l| (0..CALLS).map(move |n| func(w, l, n))))
        .map(|func| (func, 1))
        .collect::<BTreeMap<_, _>>();
    assert_eq!(*serving.served.lock().unwrap(), calls);
}

macro_rules! cases {
    ($($name:ident: $warps:literal warps of $lanes:literal, $slots:literal slots,
        $blocks:literal blocks, $needs_extent:ident, $at_once:literal at once;)*) => {
        mod lock_step {
            use super::*;
            $(#[test] fn $name() {
                check(Scheduling::LockStep, super::$name);
            })*
        }
        mod independent {
            use super::*;
            $(#[test] fn $name() {
                check(Scheduling::Independent, super::$name);
            })*
        }
        $(#[expect(non_upper_case_globals, reason = "named as the tests are")]
        const $name: Case = Case {
            warps: $warps,
            lanes: $lanes,
            slots: $slots,
            blocks: $blocks,
            needs_extent: $needs_extent,
            at_once: $at_once,
        };)*
    };
}

/// In lock-step, all lanes of a warp share a slot: the host replies once it has all their requests.
#[test]
fn a_warp_calls_in_one_slot() {
    for lanes in [32, 64] {
        let case = Case {
            warps: 1,
            lanes,
            slots: 1,
            blocks: 32,
            needs_extent: NONE,
            at_once: lanes,
        };
        check(Scheduling::LockStep, case);
    }
}

cases! {
    a_slot_for_every_lane: 1 warps of 32, 32 slots, 32 blocks, NONE, 32 at once;
    a_slot_for_every_second_lane: 1 warps of 64, 32 slots, 32 blocks, NONE, 32 at once;
    one_slot: 1 warps of 8, 1 slots, 32 blocks, SOME, 1 at once;
    fewer_slots_than_lanes: 1 warps of 32, 4 slots, 32 blocks, SOME, 4 at once;
    two_warps_want_all_slots: 2 warps of 32, 8 slots, 32 blocks, SOME, 8 at once;
    room_for_one_extent: 1 warps of 32, 32 slots, 1 blocks, ALL, 1 at once;
    room_for_one_extent_of_two_warps: 2 warps of 16, 4 slots, 1 blocks, SOME, 1 at once;
    extents_and_none: 1 warps of 64, 32 slots, 32 blocks, SOME, 1 at once;
}
