//! Exploration of a model's runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::model::Builder;

/// The runs of a model that are explored.
#[derive(Clone, Copy, Debug)]
pub enum Runs {
    /// All runs: a test that passes is a proof for its number of threads and calls.
    All,
    /// The runs with at most this many preemptions. Waiting for another thread is not a preemption.
    /// All values that a load may return are explored.
    Preemptions(usize),
}

/// Explores `runs` of `model` and prints their number. Panics if one of them fails.
#[expect(
    clippy::print_stdout,
    reason = "the size of the search is the result of a test"
)]
pub fn explore(name: &str, runs: Runs, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = match runs {
        Runs::All => None,
        Runs::Preemptions(bound) => Some(bound),
    };
    builder.max_branches = 10_000;
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let start = std::time::Instant::now();
    builder.check(move || {
        // Relaxed: loom runs the model on this thread.
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let count = count.load(Ordering::Relaxed);
    println!("{name}: {count} runs ({runs:?}) in {:.1?}", start.elapsed());
    assert!(count > 1, "{name}: nothing was explored");
}
