//! The host's side of the [`WakeWord`].

use core::mem::offset_of;

use shared_abi::wire::WakeWord;
use shared_abi::words::{Store, SystemWords};

/// Marks the host as sleeping in `words` and calls `wait`, unless `poll` then returns true. `wait`
/// returns once a device thread that saw the mark has woken the host.
pub fn sleep(words: &impl SystemWords, poll: impl FnOnce() -> bool, wait: impl FnOnce()) {
    let sleeping = offset_of!(WakeWord, sleeping);
    // Relaxed: the fence orders it.
    words.store32(sleeping, 1, Store::Relaxed);
    // Edge `W1`, host end: `sleeping` was stored before this fence. If `poll` misses
    // a request, the device's load after its own fence sees `sleeping`, and wakes
    // the host.
    words.fence();
    if !poll() {
        wait();
    }
    // Relaxed: a device that reads the old value causes a spurious wake-up.
    words.store32(sleeping, 0, Store::Relaxed);
}
