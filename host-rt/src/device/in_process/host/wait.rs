//! Waiting device threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};
use shared_abi::host_arch::HostWait;

use crate::base::sleep::YieldTime;

/// The services to threads that wait for each other.
pub(super) static SERVICES: HostWait = HostWait { wait, wake };

/// The longest wait for a word that nobody changes, if there are few threads: the thread then looks whether
/// its program has ended.
const MAX_WAIT: Duration = Duration::from_millis(10);

/// The same per device thread, if there are many.
const WAIT_PER_THREAD: Duration = Duration::from_micros(100);

/// The longest sleep of a waiting device thread if there are few.
const MAX_SLEEP: Duration = Duration::from_millis(1);

/// The sleep per device thread if there are many: the wake-ups of hundreds of threads that wait for
/// one slot must not keep the processors busy and delay the thread that owns the slot.
const SLEEP_PER_THREAD: Duration = Duration::from_micros(20);

/// Divisor of the time waited so far: the duration of a sleep.
const SLEEP_DIVISOR: u32 = 8;

/// The shortest sleep.
const MIN_SLEEP: Duration = Duration::from_micros(1);

/// A wait of a device thread.
#[derive(Clone, Copy)]
struct Wait {
    since: Instant,
    yield_time: YieldTime,
    /// The time waited until the end of the last sleep.
    slept: Option<Duration>,
}

impl Wait {
    /// Begins the wait after `last`.
    fn after(last: Option<Self>) -> Self {
        let yield_time = match last {
            Some(Self {
                yield_time,
                slept: Some(slept),
                ..
            }) => yield_time.after(slept),
            Some(last) => last.yield_time,
            None => YieldTime::LONGEST,
        };
        Self {
            since: Instant::now(),
            yield_time,
            slept: None,
        }
    }

    /// Goes on with the wait of this thread, or begins another one: yields the processor, or calls
    /// `sleep` with the time waited so far.
    fn go_on<R>(attempt: u32, sleep: impl FnOnce(Duration) -> R) -> Option<R> {
        let mut wait = match WAIT.get() {
            Some(wait) if attempt > 0 => wait,
            last => Self::after(last),
        };
        let waited = wait.since.elapsed();
        let slept = wait.yield_time.is_over(waited).then(|| {
            let result = sleep(waited);
            wait.slept = Some(wait.since.elapsed());
            result
        });
        if slept.is_none() {
            std::thread::yield_now();
        }
        WAIT.set(Some(wait));
        slept
    }
}

thread_local! {
    /// The last wait of this thread.
    static WAIT: Cell<Option<Wait>> = const { Cell::new(None) };
}

/// Device threads that run kernels now.
pub(super) static THREADS: AtomicU32 = AtomicU32::new(0);

/// [`HostArch::pause`](shared_abi::host_arch::HostArch::pause)
pub(super) unsafe extern "C" fn pause(attempt: u32) {
    Wait::go_on(attempt, |waited| {
        // Relaxed: a rough estimate of the load.
        let longest = SLEEP_PER_THREAD * THREADS.load(Ordering::Relaxed);
        let sleep = (waited / SLEEP_DIVISOR).max(MIN_SLEEP);
        std::thread::sleep(sleep.min(longest.max(MAX_SLEEP)));
    });
}

unsafe extern "C" fn wait(word: *const u32, expected: u32, attempt: u32, nanoseconds: u64) -> u32 {
    // SAFETY: the image passes a word that lives while it waits, and changes it atomically.
    let word = unsafe { AtomicU32::from_ptr(word.cast_mut()) };
    let woken = Wait::go_on(attempt, |_| {
        // Relaxed: a rough estimate of the load.
        let longest = WAIT_PER_THREAD * THREADS.load(Ordering::Relaxed);
        let limit = Duration::from_nanos(nanoseconds).min(longest.max(MAX_WAIT));
        let limit = Timespec::try_from(limit).ok();
        let woken = futex::wait(word, Flags::PRIVATE, expected, limit.as_ref());
        !matches!(woken, Err(Errno::TIMEDOUT | Errno::INTR))
    });
    woken.unwrap_or(false).into()
}

unsafe extern "C" fn wake(word: *const u32, count: u32) -> u32 {
    // SAFETY: the image passes a word of its memory. It may be freed already, as for every futex: then
    // nobody waits for it.
    let word = unsafe { AtomicU32::from_ptr(word.cast_mut()) };
    // More threads than the system counts do not exist.
    let woken = futex::wake(word, Flags::PRIVATE, count.min(i32::MAX as u32));
    woken.map_or(0, |count| count as u32)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// Waits until something other than the time ends it, at most for so many attempts.
    fn wait_for(word: &AtomicU32, expected: u32, nanoseconds: u64, attempts: u32) -> bool {
        // SAFETY: a word that is borrowed during the wait.
        (0..attempts).any(|n| unsafe { wait(word.as_ptr(), expected, n, nanoseconds) } != 0)
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let word = Arc::new(AtomicU32::new(1));
        let waiter = {
            let word = Arc::clone(&word);
            thread::spawn(move || wait_for(&word, 1, u64::MAX, u32::MAX))
        };
        // SAFETY: `word` lives until this returns.
        while unsafe { wake(word.as_ptr(), 1) } == 0 {
            thread::yield_now();
        }
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn a_wait_ends_in_time_or_with_another_value() {
        let word = AtomicU32::new(1);
        // Yields first, for less than 1000 times of at least a microsecond.
        assert!(!wait_for(&word, 1, 1000, 1000));
        assert!(wait_for(&word, 2, u64::MAX, u32::MAX));
        // SAFETY: `word` lives until this returns.
        assert_eq!(unsafe { wake(word.as_ptr(), u32::MAX) }, 0);
    }
}
