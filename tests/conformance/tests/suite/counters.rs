//! Counters that wrap.

use conformance::Target;

use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(counters_wrap_in_one_slot),
    test!(counters_wrap_in_all_slots),
    test!(counters_pass_the_sign_bit),
];

fn run(target: &Target, first: u32, slots: u32, grid: (u32, u32), rounds: u32) {
    // A single slot has no counter.
    let rounds = if target.is_parallel() {
        rounds
    } else {
        rounds / 10
    };
    let builder = target.builder().initial_seq(first).slots(slots);
    let session = Session::build(target, builder, &acting(|what| what));
    for _ in 0..2 {
        let (outcomes, result) = session.act(grid, 1, 1, rounds);
        result.unwrap();
        for (i, outcome) in (1..).zip(outcomes) {
            assert_eq!(outcome.sum, i * u64::from(rounds));
            assert_eq!((outcome.ok, outcome.failed), (rounds, 0));
        }
    }
}

/// `native`: the slot's sequence number wraps soon. `gcc-ring`, `gcn-queue`: so do the tickets,
/// within the first lap.
fn counters_wrap_in_one_slot(target: &Target) {
    run(target, u32::MAX - 5, 1, (2, 2), 200);
}

/// `gcc-ring`, `gcn-queue`: with more requests than slots, before and after.
fn counters_wrap_in_all_slots(target: &Target) {
    run(target, u32::MAX - 2000, 64, (8, 16), 40);
    run(target, u32::MAX - 3, 64, (8, 16), 20);
}

fn counters_pass_the_sign_bit(target: &Target) {
    run(target, (1 << 31) - 1500, 4, (4, 16), 50);
    run(target, (1 << 31) - 3, 4, (4, 16), 20);
}
