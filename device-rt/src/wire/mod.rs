//! The producers: how a device thread claims, publishes and waits, one file per
//! wire. They see memory only through the traits of
//! [`shared_abi::words`], so the model checker runs the same code.

pub mod gcc_ring;
pub mod gcc_slot;
pub mod native;

use shared_abi::wire::Bell;
use shared_abi::words::{Load, SystemWords};

/// Tells the host that a request has been published, if it sleeps.
pub fn ring_if_asleep(bell: &impl SystemWords, ring: impl FnOnce()) {
    // Edge `W1`, device end: the request was stored before this fence. If the load
    // below misses the host's `asleep`, the host's look after its own fence sees
    // the request.
    bell.fence();
    // Relaxed: the fence orders it, and nothing is read on the strength of it.
    if bell.load32(core::mem::offset_of!(Bell, asleep), Load::Relaxed) != 0 {
        ring();
    }
}
