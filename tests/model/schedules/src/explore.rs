//! Runs of a model in random schedules.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

/// The number of schedules of each kind, instead of that of the test. They are then new ones.
const ROUNDS: &str = "REVOFF_TEST_ROUNDS";

/// The file with a schedule that a failed test has printed: the test runs in that one alone.
const SCHEDULE: &str = "REVOFF_TEST_SCHEDULE";

/// The number of changes of priority in a schedule of the second kind.
const DEPTH: usize = 3;

/// The seed of the schedules that every build runs.
const SEED: u64 = 0x5eed;

/// Longer runs count as endless.
const MAX_STEPS: usize = 400_000;

/// A thread's stack in bytes.
const STACK: usize = 256 << 10;

/// One test at a time: shuttle's hook for panics is that of the process.
static ONE: Mutex<()> = Mutex::new(());

/// Runs `model` in `rounds` schedules that choose the next thread at random, and in as many in which
/// threads have priorities that change a few times (PCT). A failure prints its schedule.
///
/// # Panics
/// If a run fails: its threads deadlock, do not end, or panic.
#[expect(
    clippy::print_stdout,
    reason = "the size of the search is the result of a test"
)]
pub fn explore(name: &str, rounds: usize, model: impl Fn() + Send + Sync + 'static) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let count = Arc::new(AtomicUsize::new(0));
    let (counter, model) = (Arc::clone(&count), Arc::new(model));
    let run = move || {
        // Relaxed: all runs are on this thread.
        counter.fetch_add(1, Ordering::Relaxed);
        crate::base::sync::fail_spawns(false);
        crate::base::sync::without_timeouts(false);
        model();
    };
    let start = Instant::now();
    if let Some(file) = std::env::var_os(SCHEDULE) {
        let schedule = std::fs::read_to_string(&file).expect("a file with a schedule");
        check(ReplayScheduler::new_from_encoded(schedule.trim()), run);
    } else if let Ok(rounds) = std::env::var(ROUNDS) {
        let rounds = rounds.parse().expect("a number of schedules");
        check(RandomScheduler::new(rounds), run.clone());
        check(PctScheduler::new(DEPTH, rounds), run);
    } else {
        check(RandomScheduler::new_from_seed(SEED, rounds), run.clone());
        check(PctScheduler::new_from_seed(SEED, DEPTH, rounds), run);
    }
    let count = count.load(Ordering::Relaxed);
    println!("{name}: {count} schedules in {:.1?}", start.elapsed());
    assert!(count > 0, "{name}: nothing was explored");
}

fn check(scheduler: impl Scheduler + 'static, run: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK;
    // That it knows no weaker memory than sequentially consistent: see the crate.
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    Runner::new(scheduler, config).run(run);
}
