//! How far a model is explored.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::model::Builder;

/// Which runs of a model are explored.
#[derive(Clone, Copy, Debug)]
pub enum Runs {
    /// All: what passes holds for this number of threads and calls.
    All,
    /// Those in which a thread is interrupted at most so often while it could go
    /// on. Waiting for others is no interruption, and what a load may return is
    /// explored in full.
    Preemptions(usize),
}

/// Runs `model` in every way that `runs` names; panics if one of them fails, and
/// says how many there were.
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
