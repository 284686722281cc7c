//! Waiting for a word of memory. Where the device has no scheduler, a waiting thread polls.

use super::device::{std_monotonic_time, std_wait, std_wake};
use crate::sync::atomic::Atomic;
use crate::sync::atomic::Ordering::Relaxed;
use crate::time::Duration;

pub type Futex = Atomic<Primitive>;
pub type Primitive = u32;

pub type SmallFutex = Atomic<SmallPrimitive>;
pub type SmallPrimitive = u32;

/// Polls before a wait ends without a reason, as a futex's may. A thread that polls for a value that changed
/// and changed back would otherwise wait for ever.
const POLLS: u32 = 1 << 16;

/// Waits until the word is not `expected`, or the thread is woken. False if the time is over.
pub fn futex_wait(futex: &Atomic<u32>, expected: u32, timeout: Option<Duration>) -> bool {
    let end = timeout.map(|time| {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        std_monotonic_time().saturating_add(nanos)
    });
    for attempt in 0..POLLS {
        // Relaxed: the caller orders what it reads once it sees the value that it waits for.
        if futex.load(Relaxed) != expected {
            return true;
        }
        let rest = end.map_or(u64::MAX, |end| end.saturating_sub(std_monotonic_time()));
        if rest == 0 {
            return false;
        }
        if std_wait(futex, expected, attempt, rest) {
            return true;
        }
    }
    true
}

/// Wakes a thread that waits for the word. False if it is not known whether there is one.
#[inline]
pub fn futex_wake(futex: &Atomic<u32>) -> bool {
    std_wake(futex, 1)
}

/// Wakes all threads that wait for the word.
#[inline]
pub fn futex_wake_all(futex: &Atomic<u32>) {
    std_wake(futex, u32::MAX);
}
