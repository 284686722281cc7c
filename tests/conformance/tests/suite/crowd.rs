//! More callers than slots or blocks.

use conformance::Target;
use revoff_host::shared_abi::wire::bounce;

use crate::probe::Probe;
use crate::raw::{Form, Where, perform};
use crate::session::{Session, acting};
use crate::{Test, test};
use revoff_host::Functions;
use revoff_host::shared_abi::map_kind::MapKind;

pub(crate) const TESTS: &[Test] = &[
    test!(more_threads_than_slots),
    test!(more_threads_than_the_ring_has_slots),
    test!(one_slot_many_launches),
    test!(more_callers_than_bounce_blocks),
    test!(extents_of_different_length),
];

fn all_served(session: &Session, grid: (u32, u32), rounds: u32) {
    let (outcomes, result) = session.act(grid, 1, 1, rounds);
    result.unwrap();
    for (i, outcome) in (1..).zip(outcomes) {
        assert_eq!(
            (outcome.sum, outcome.ok),
            (i * u64::from(rounds), rounds),
            "thread {i}"
        );
    }
}

fn more_threads_than_slots(target: &Target) {
    let session = Session::build(target, target.builder().slots(2), &acting(|what| what));
    all_served(&session, (8, 8), 20);
}

fn more_threads_than_the_ring_has_slots(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    // Threads in the hundreds that wait for one slot take long, and show no more than a few.
    let teams = if target.is_parallel() { 48 } else { 4 };
    all_served(&session, (teams, 32), 2);
}

/// A lost slot would be noticed at once.
fn one_slot_many_launches(target: &Target) {
    let session = Session::build(target, target.builder().slots(1), &acting(|what| what));
    for _ in 0..200 {
        all_served(&session, (1, 2), 2);
    }
}

/// 512 KiB are 32 blocks; a call needs at least one on GCC's wires, and on all wires for data that
/// does not fit a slot.
fn more_callers_than_bounce_blocks(target: &Target) {
    let builder = target.builder().bounce_bytes(1);
    let mut functions = acting(|what| what);
    functions
        .add(Probe::new("probe", |args| {
            for byte in &mut args[0].bytes {
                *byte = byte.wrapping_add(1);
            }
            Ok(())
        }))
        .unwrap();
    let session = Session::build(target, builder, &functions);
    all_served(&session, (16, 16), 5);
    marshal(&session, 4 * bounce::BLOCK, 24);
}

fn extents_of_different_length(target: &Target) {
    let builder = target.builder().bounce_bytes(1);
    let mut functions = Functions::new();
    functions
        .add(Probe::new("probe", |args| {
            for byte in &mut args[0].bytes {
                *byte = byte.wrapping_add(1);
            }
            Ok(())
        }))
        .unwrap();
    let session = Session::build(target, builder, &functions);
    std::thread::scope(|scope| {
        for len in [600, 5000, 20_000, 40_000, 60_000] {
            let session = &session;
            scope.spawn(move || marshal(session, len, 6));
        }
    });
}

/// `times` kernels at once, each of which has `len` bytes of its stack changed.
fn marshal(session: &Session, len: usize, times: usize) {
    let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
    let expected: Vec<u8> = data.iter().map(|byte| byte.wrapping_add(1)).collect();
    std::thread::scope(|scope| {
        for _ in 0..times {
            scope.spawn(|| {
                let forms = [Form::at(0, len, MapKind::TOFROM)];
                let done = perform(session, Where::Stack, &data, &forms);
                done.result.unwrap();
                assert!(done.data == expected, "{len} bytes");
            });
        }
    });
}
