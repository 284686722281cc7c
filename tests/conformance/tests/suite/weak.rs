//! Calls in the weak memory mode of emulated GPUs. Device code waits for its stores and invalidates caches
//! where a wire needs it: results are right, and without these instructions they are not.

use conformance::child::ChildError;
use conformance::watchdog::LIMIT;
use conformance::{Target, child};
use hsa_emu::Ignored;

use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(calls_are_right_in_weak_memory).only(Target::has_weak_memory),
    test!(a_wire_needs_what_it_waits_for).only(Target::has_weak_memory),
];

/// Tests with calls whose arguments are in memory that both sides use.
const CALLS: [&str; 3] = [
    "sixty_four_marshalled_ranges",
    "slices_change_in_each_call",
    "kernels_in_turn",
];

/// The mode's variable.
const WEAK: &str = "REVOFF_EMU_WEAK";

/// The checker's, which excludes it.
const CHECK: &str = "REVOFF_EMU_CHECK";

/// Runs a test of these in weak memory.
fn run(target: &Target, test: &str, weak: &str) -> Result<(), ChildError> {
    let name = format!("{}::{test}", target.name());
    // Without its waits a kernel may wait forever.
    let settings = [(WEAK, weak), (CHECK, "0"), (LIMIT, "5")];
    child::run(&name, &settings).map(drop)
}

fn calls_are_right_in_weak_memory(target: &Target) {
    for test in CALLS {
        for seed in 1..3 {
            if let Err(error) = run(target, test, &seed.to_string()) {
                panic!("{test}, {WEAK}={seed}: {error}");
            }
        }
    }
}

fn a_wire_needs_what_it_waits_for(target: &Target) {
    for ignored in Ignored::ALL {
        let mut runs = CALLS
            .iter()
            .flat_map(|test| (1..4).map(move |seed| (test, seed)));
        // For no other reason.
        let is_needed = runs.any(|(test, seed)| {
            run(target, test, &format!("{seed},{}", ignored.name())).is_err()
                && run(target, test, &seed.to_string()).is_ok()
        });
        assert!(is_needed, "no test needs {}", ignored.name());
    }
}
