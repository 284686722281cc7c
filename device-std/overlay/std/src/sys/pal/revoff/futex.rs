//! Waiting for a word of memory. The device has no scheduler: a waiting thread polls.

use super::device::{std_monotonic_time, std_pause};
use crate::sync::atomic::Atomic;
use crate::sync::atomic::Ordering::Relaxed;
use crate::time::Duration;

pub type Futex = Atomic<Primitive>;
pub type Primitive = u32;

pub type SmallFutex = Atomic<SmallPrimitive>;
pub type SmallPrimitive = u32;

/// Polls before a wait ends without a reason, as a futex's may. A thread that waits for a value that
/// changed and changed back would otherwise wait for ever.
const POLLS: u32 = 1 << 16;

/// Waits until the word is not `expected`. False if the time is over.
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
        if end.is_some_and(|end| std_monotonic_time() >= end) {
            return false;
        }
        std_pause(attempt);
    }
    true
}

/// Waiting threads poll: nobody is woken.
#[inline]
pub fn futex_wake(_: &Atomic<u32>) -> bool {
    false
}

/// See [`futex_wake`].
#[inline]
pub fn futex_wake_all(_: &Atomic<u32>) {}
