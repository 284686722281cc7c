//! Waiting device threads.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use shared_abi::host_arch::HostWait;

use crate::base::sleep::{YieldTime, spins};

/// The services to threads that wait for each other.
pub(super) static SERVICES: HostWait = HostWait { wait, wake };

/// Spins before a thread that waits for the host yields: about as long as a call to an idle host takes.
const SPINS: u32 = 256;

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
    fn yield_or_sleep<R>(attempt: u32, sleep: impl FnOnce(Duration) -> R) -> Option<R> {
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
    let spins = spins(SPINS);
    if attempt < spins {
        return std::hint::spin_loop();
    }
    Wait::yield_or_sleep(attempt - spins, |waited| {
        // Relaxed: a rough estimate of the load.
        let longest = SLEEP_PER_THREAD * THREADS.load(Ordering::Relaxed);
        let sleep = (waited / SLEEP_DIVISOR).max(MIN_SLEEP);
        std::thread::sleep(sleep.min(longest.max(MAX_SLEEP)));
    });
}

unsafe extern "C" fn wait(word: *const u32, expected: u32, attempt: u32, nanoseconds: u64) -> u32 {
    let woken = Wait::yield_or_sleep(attempt, |_| {
        // Relaxed: a rough estimate of the load.
        let longest = WAIT_PER_THREAD * THREADS.load(Ordering::Relaxed);
        let limit = Duration::from_nanos(nanoseconds).min(longest.max(MAX_WAIT));
        let limit = libc::timespec {
            // At most minutes.
            tv_sec: limit.as_secs() as libc::time_t,
            tv_nsec: limit.subsec_nanos().into(),
        };
        let call = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the system reads the word, at an address that it checks, and the limit, a local variable.
        let result =
            unsafe { libc::syscall(libc::SYS_futex, word, call, expected, &raw const limit) };
        // Another value is an error for the system.
        result == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
    });
    woken.unwrap_or(false).into()
}

unsafe extern "C" fn wake(word: *const u32, count: u32) -> u32 {
    // The system takes no more, and there are no more threads.
    let count = count.min(i32::MAX as u32);
    let call = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the address only names the threads that wait: the word may have been freed.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word, call, count) };
    u32::try_from(woken).unwrap_or(0)
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
        let start = Instant::now();
        assert!(!wait_for(&word, 1, 1000, 1000));
        // 10 s, if the time that it is given did not end a wait.
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(wait_for(&word, 2, u64::MAX, u32::MAX));
        // SAFETY: `word` lives until this returns.
        assert_eq!(unsafe { wake(word.as_ptr(), u32::MAX) }, 0);
    }
}
