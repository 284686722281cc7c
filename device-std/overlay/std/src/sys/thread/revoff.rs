//! A thread is an idle thread of the grid that the host launched.

use crate::io;
use crate::num::NonZero;
use crate::sync::Arc;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::sys::pal::device::{
    std_monotonic_time, std_pause, std_spawn, std_thread, std_threads,
};
use crate::sys::pal::futex::{futex_wait, futex_wake};
use crate::thread::ThreadInit;
use crate::time::Duration;

/// The launch determines the size of every stack.
pub const DEFAULT_MIN_STACK_SIZE: usize = 0;

/// Pairs with `done` of the thread that runs.
pub struct Thread {
    done: Arc<AtomicU32>,
}

/// The function that a thread runs, and the word that reports its end.
struct Start {
    init: Box<ThreadInit>,
    done: Arc<AtomicU32>,
}

impl Thread {
    // unsafe: see thread::Builder::spawn_unchecked for safety requirements
    pub unsafe fn new(_stack: usize, init: Box<ThreadInit>) -> io::Result<Thread> {
        let done = Arc::new(AtomicU32::new(0));
        let start = Box::into_raw(Box::new(Start { init, done: Arc::clone(&done) }));
        // SAFETY: `std_run_thread` takes such a pointer, and nobody else has this one.
        if unsafe { std_spawn(start.cast()) } {
            return Ok(Thread { done });
        }
        // SAFETY: no thread has taken the pointer that `into_raw` returned above.
        drop(unsafe { Box::from_raw(start) });
        Err(io::const_error!(
            io::ErrorKind::WouldBlock,
            "all threads of the launch are running: start the program with more of them (--warps)",
        ))
    }

    pub fn join(self) {
        // Edge `T3`, acquire: pairs with the release in `std_run_thread`; the thread's writes are visible.
        while self.done.load(Acquire) == 0 {
            futex_wait(&self.done, 0, None);
        }
    }
}

/// Runs a thread to its end. Called by an idle thread, with the pointer that went to `std_spawn`.
///
/// # Safety
/// The pointer comes from `std_spawn`, and this is its only use.
#[unsafe(no_mangle)]
unsafe fn std_run_thread(start: *mut u8) {
    // SAFETY: `Thread::new` leaked the box; this call is the only user.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    let Start { init, done } = *start;
    run(init);
    // SAFETY: the thread runs nothing of the program after this.
    unsafe { crate::sys::thread_local::key::run_destructors() };
    // Edge `T3`, release: pairs with the acquire in `join`.
    done.store(1, Release);
    futex_wake(&done);
}

/// Runs the destructors of thread-local variables of the thread that ran `main`. Called when `main` has
/// returned.
///
/// # Safety
/// The thread runs nothing of the program after this.
#[unsafe(no_mangle)]
unsafe fn std_end_main() {
    // SAFETY: the caller's promise.
    unsafe { crate::sys::thread_local::key::run_destructors() };
}

/// Not inlined: destructors of thread-local variables run after all of this.
#[inline(never)]
fn run(init: Box<ThreadInit>) {
    let start = init.init();
    start();
}

/// The threads that can be started: pools start this many, while `main` waits for them.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    Ok(NonZero::new(std_threads() as usize - 1).unwrap_or(NonZero::<usize>::MIN))
}

pub fn current_os_id() -> Option<u64> {
    Some(std_thread().into())
}

pub fn yield_now() {
    std_pause(0);
}

pub fn sleep(duration: Duration) {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let end = std_monotonic_time().saturating_add(nanos);
    let mut attempt = 0_u32;
    while std_monotonic_time() < end {
        std_pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}
