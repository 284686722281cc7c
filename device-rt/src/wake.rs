//! Waking a host that sleeps.

use shared_abi::image::Runtime;
use shared_abi::wire::Bell;
use shared_abi::words::{Load, SystemWords};

use crate::arch;
use crate::runtime::HostWritten;

/// Wakes the host if it sleeps; a request has been published.
#[inline(always)]
pub(crate) fn wake_host(runtime: &HostWritten<Runtime>) {
    if arch::HAS_BELL {
        // SAFETY: the host filled `runtime` with the address of a wake word, which it keeps
        // while kernels of this image run.
        let bell = unsafe { arch::mapped(runtime.get().bell) };
        ring_if_asleep(&bell, arch::ring);
    }
}

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
