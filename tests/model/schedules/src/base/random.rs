//! Random choices of a model. They are part of its schedule.

use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};

/// A random number below `limit`.
pub fn up_to(limit: usize) -> usize {
    thread_rng().gen_range(0..limit)
}

/// True once in `of` times.
pub fn chance(of: usize) -> bool {
    up_to(of) == 0
}

/// Lets other threads run.
pub fn pause() {
    shuttle::thread::sleep(Duration::ZERO);
}
