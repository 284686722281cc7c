//! Calls each target with mutations of its seeds.

use std::env;

use fuzz::{TARGETS, Target};
use mutatis::check::{Check, CheckError};
use mutatis::mutators;

/// The variable with the number of mutations of each target's seeds.
const ROUNDS: &str = "REVOFF_TEST_ROUNDS";

/// The mutations of one set of seeds. Each adds to those before, so more would leave nothing valid.
const AT_A_TIME: u64 = 64;

/// Calls a target with mutations of its seeds. Returns the shortest bytes found for which it panics.
fn check(target: &Target, rounds: u64) -> Result<(), Vec<u8>> {
    for seed in 0..rounds.div_ceil(AT_A_TIME) {
        let checked = Check::new()
            .iters(AT_A_TIME as usize)
            .max_shrink_iters(1000)
            .seed(seed)
            .run_with(
                mutators::default::<Vec<u8>>(),
                (target.seeds)(),
                |bytes| -> Result<(), &str> {
                    (target.run)(bytes);
                    Ok(())
                },
            );
        match checked {
            Ok(()) => {}
            Err(CheckError::Failed(failure)) => return Err(failure.value),
            Err(error) => panic!("{}: {error}", target.name),
        }
    }
    Ok(())
}

#[test]
fn the_targets_hold_for_mutations_of_their_seeds() {
    let rounds = env::var(ROUNDS).map_or(5000, |rounds| rounds.parse().expect("a number"));
    for target in &TARGETS {
        if let Err(bytes) = check(target, rounds) {
            panic!("{} with b\"{}\"", target.name, bytes.escape_ascii());
        }
    }
}

#[test]
fn a_fault_of_a_target_is_found() {
    let faulty = Target {
        name: "faulty",
        run: |bytes| assert!(!bytes.starts_with(b"se") || bytes.len() >= 4, "planted"),
        seeds: || vec![b"seed".to_vec()],
        is_valid: |_| true,
    };
    let found = check(&faulty, 1000).expect_err("it is planted");
    assert!(found.starts_with(b"se"), "{found:?}");
}

#[test]
fn the_seeds_are_valid() {
    for target in &TARGETS {
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            assert!((target.is_valid)(&seed), "{}, {number}", target.name);
        }
    }
}
