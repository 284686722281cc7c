//! The host's half of the [`Bell`].

use core::mem::offset_of;

use shared_abi::wire::Bell;
use shared_abi::words::{Store, SystemWords};

/// Sleeps at the bell in `words` by `wait`, which returns once the bell has been
/// rung, unless `look` finds a reason not to.
pub fn sleep(words: &impl SystemWords, look: impl FnOnce() -> bool, wait: impl FnOnce()) {
    let asleep = offset_of!(Bell, asleep);
    // Relaxed: the fence orders it.
    words.store32(asleep, 1, Store::Relaxed);
    // Edge `W1`, host end: `asleep` was stored before this fence. If `look` misses
    // a request, the device's load after its own fence sees `asleep`, and the bell
    // rings.
    words.fence();
    if !look() {
        wait();
    }
    // Relaxed: at worst somebody rings in vain.
    words.store32(asleep, 0, Store::Relaxed);
}
