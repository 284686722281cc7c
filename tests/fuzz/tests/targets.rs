//! Calls each target with mutations of its seeds.

mod runs;

use std::env;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fuzz::{TARGETS, Tally, Target};
use mutatis::check::{Check, CheckError};
use mutatis::mutators;

use self::runs::Runs;

/// The variable with the number of mutations of each target's seeds.
const ROUNDS: &str = "REVOFF_TEST_ROUNDS";

/// The mutations of one set of seeds. Each adds to those before, so more would leave nothing valid.
const AT_A_TIME: u64 = 64;

/// The most random bytes.
const MAX_RANDOM: u64 = 300;

/// Calls a target with mutations of its seeds. Returns the most bytes that a call has allocated, if it is a parser, or
/// the first bytes for which it panics. These are not made shorter: a driver that has failed could fail for any others.
fn check(target: &Target, rounds: u64) -> Result<Option<usize>, Vec<u8>> {
    let runs = Runs::begin(target.name, "mutations");
    for seed in 0..rounds.div_ceil(AT_A_TIME) {
        let checked = Check::new()
            .iters(AT_A_TIME as usize)
            .max_shrink_iters(0)
            .seed(seed)
            .run_with(
                mutators::default::<Vec<u8>>(),
                (target.seeds)(),
                |bytes| -> Result<(), &str> {
                    runs.run(target.run, bytes);
                    Ok(())
                },
            );
        match checked {
            Ok(()) => {}
            Err(CheckError::Failed(failure)) => return Err(failure.value),
            Err(error) => panic!("{}: {error}", target.name),
        }
    }
    Ok(runs.peak())
}

/// Calls a target with random bytes, as many times. Returns those for which it panics.
fn check_random(target: &Target, rounds: u64) -> Result<(), Vec<u8>> {
    // A xorshift generator, whose lower bits are not used.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % below
    };
    let runs = Runs::begin(target.name, "random");
    for _ in 0..rounds {
        let len = 1 + next(MAX_RANDOM);
        let bytes: Vec<_> = (0..len).map(|_| next(256) as u8).collect();
        if catch_unwind(AssertUnwindSafe(|| runs.run(target.run, &bytes))).is_err() {
            return Err(bytes);
        }
    }
    Ok(())
}

#[test]
fn the_targets_hold_for_mutations_of_their_seeds() {
    let rounds = env::var(ROUNDS).map_or(5000_u64, |rounds| rounds.parse().expect("a number"));
    for target in &TARGETS {
        match check(target, rounds.div_ceil(target.cost)) {
            Ok(Some(peak)) => println!("{}: a call allocates at most {peak} bytes", target.name),
            Ok(None) => {}
            Err(bytes) => panic!("{} with b\"{}\"", target.name, bytes.escape_ascii()),
        }
        if let Some(tally) = target.tally {
            // Such a target gives any bytes a meaning.
            if let Err(bytes) = check_random(target, rounds.div_ceil(target.cost)) {
                panic!("{} with b\"{}\"", target.name, bytes.escape_ascii());
            }
            let Tally { tried, succeeded } = tally();
            let name = target.name;
            println!("{name}: {succeeded} of {tried} have succeeded");
            assert!(
                tried > 0 && succeeded >= tried / 4,
                "{name}: {succeeded} of {tried}"
            );
        }
    }
}

/// A target with a planted fault.
fn planted(name: &'static str, run: fn(&[u8])) -> Target {
    Target {
        name,
        run,
        seeds: || vec![b"seed".to_vec()],
        is_valid: |_| true,
        cost: 1,
        tally: None,
    }
}

#[test]
fn a_fault_of_a_target_is_found() {
    let faulty = planted("faulty", |bytes| {
        assert!(!bytes.starts_with(b"se") || bytes.len() >= 4, "planted");
    });
    let found = check(&faulty, 1000).expect_err("it is planted");
    assert!(found.starts_with(b"se"), "{found:?}");
}

#[test]
fn a_target_that_allocates_too_much_is_found() {
    let greedy = planted("greedy", |_| drop(black_box(vec![1_u8; 256 << 10])));
    check(&greedy, 1).expect_err("it is planted");
}

#[test]
fn the_seeds_are_valid() {
    for target in &TARGETS {
        let runs = Runs::begin(target.name, "seeds");
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            let is_valid = runs.run(target.is_valid, &seed);
            assert!(is_valid, "{}, {number}", target.name);
        }
    }
}
