//! Waking a sleeping host.

use shared_abi::wire::WakeWord;
use shared_abi::words::{Load, SystemWords};

use crate::arch;
use crate::host_written::RuntimeConfig;

/// Wakes the host if it sleeps. Call it after publishing a request.
#[inline(always)]
pub(crate) fn wake_host(runtime: &RuntimeConfig) {
    if arch::CAN_WAKE {
        // SAFETY: the host filled `runtime` with the address of a wake word, which it keeps
        // while kernels of this image run.
        let word = unsafe { arch::mapped(runtime.wake_word()) };
        wake_if_sleeping(&word, arch::wake_host);
    }
}

/// Calls `wake` if the wake word says that the host sleeps. Call it after publishing a request.
pub fn wake_if_sleeping(word: &impl SystemWords, wake: impl FnOnce()) {
    // Edge `W1`, device end: the request was stored before this fence. Either the load below
    // sees the host's `sleeping`, or the host's poll after its own fence sees the request.
    word.fence();
    // Relaxed: the fence orders it, and no other access depends on it.
    if word.load32(core::mem::offset_of!(WakeWord, sleeping), Load::Relaxed) != 0 {
        wake();
    }
}
