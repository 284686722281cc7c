//! Sleeps: precise ends, and when a waiting thread begins to sleep.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::getpid;
use rustix::thread::sched_getaffinity;

/// Asks the system to end this thread's sleeps on time: by default Linux lets
/// them last 50 us longer.
pub(crate) fn sharpen() {
    #[cfg(target_os = "linux")]
    {
        let nanoseconds: libc::c_ulong = 1000;
        // SAFETY: this option takes a number and accesses no memory. If it fails, sleeps last
        // longer.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds) };
    }
}

/// The number of times that a waiting thread spins before it yields: `most`, or none if the process is bound to one
/// processor, as `mpirun` binds ranks. There, spinning delays the thread that it waits for. The first call, when a
/// device is opened, decides.
pub(crate) fn spins(most: u32) -> u32 {
    static IS_SINGLE_CPU: OnceLock<bool> = OnceLock::new();
    // Asked of the main thread: others may be bound to a processor each.
    let is_single_cpu = || sched_getaffinity(Some(getpid())).is_ok_and(|set| set.count() == 1);
    if *IS_SINGLE_CPU.get_or_init(is_single_cpu) {
        0
    } else {
        most
    }
}

/// How long a thread yields, in a wait, before it sleeps. Yielding finds the end of the wait sooner,
/// and uses the processor.
///
/// A thread whose waits are long yields for less and less time: it would sleep in any case. If a
/// sleep ends soon, it yields for the longest time again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct YieldTime(Duration);

impl YieldTime {
    /// The longest. Longer than a sleep takes on virtual machines: two threads that wait for each other, and whose
    /// waits end with sleeps, would keep each other asleep.
    pub(crate) const LONGEST: Self = Self(Duration::from_micros(200));

    /// The shortest: about as long as it takes to sleep and to be woken.
    const SHORTEST: Duration = Duration::from_micros(5);

    /// A longer wait, which includes the time to be woken, would not have ended while the thread
    /// yielded.
    const LONG_WAIT: Duration = Duration::from_micros(400);

    /// Whether it has passed after this time.
    pub(crate) fn is_over(self, waited: Duration) -> bool {
        waited >= self.0
    }

    /// The time for the next wait, after one that lasted this long and ended with a sleep.
    #[must_use]
    pub(crate) fn after(self, waited: Duration) -> Self {
        if waited < Self::LONG_WAIT {
            Self::LONGEST
        } else {
            Self((self.0 / 2).max(Self::SHORTEST))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_shorten_it_and_a_short_one_restores_it() {
        let mut time = YieldTime::LONGEST;
        for _ in 0..8 {
            let next = time.after(2 * YieldTime::LONG_WAIT);
            assert!(next.0 < time.0 || next.0 == YieldTime::SHORTEST);
            time = next;
        }
        assert!(time.is_over(YieldTime::SHORTEST));
        assert_eq!(time.after(Duration::from_micros(60)), YieldTime::LONGEST);
    }
}
