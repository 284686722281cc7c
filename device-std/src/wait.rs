//! Waiting, for a while or for a word of memory. On the `host` device, the system wakes threads; on GPUs,
//! which have no scheduler, they poll.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use revoff_device::arch;

/// 1 if all threads are to end. GPUs stop them, the `host` device only the thread that traps: the others
/// look here when they wait. Not an `AtomicBool`, which takes several instructions on NVIDIA GPUs.
static IS_STOPPED: AtomicU32 = AtomicU32::new(0);

/// Makes all threads end when they wait the next time. True for the first call.
pub(crate) fn stop_all() -> bool {
    // Relaxed: other threads learn nothing else from it.
    IS_STOPPED.swap(1, Relaxed) == 0
}

/// Ends the calling thread after [`stop_all`].
pub(crate) fn stop() -> ! {
    arch::trap("the program has ended")
}

fn stop_if_ended() {
    // Relaxed: as in `stop_all`.
    if IS_STOPPED.load(Relaxed) != 0 {
        stop();
    }
}

/// Waits a little, longer the larger `attempt` is.
#[unsafe(no_mangle)]
pub(crate) fn std_pause(attempt: u32) {
    stop_if_ended();
    arch::pause(attempt);
}

/// Waits a little while the word is `expected`, longer the larger `attempt` is, and at most for this time.
/// True if another value or a call of [`std_wake`] ended the wait: it may be false even so.
#[unsafe(no_mangle)]
pub(crate) fn std_wait(word: &AtomicU32, expected: u32, attempt: u32, nanoseconds: u64) -> bool {
    stop_if_ended();
    services::wait(word, expected, attempt, nanoseconds)
}

/// Wakes up to `count` threads that wait for the word. False if there was none.
#[unsafe(no_mangle)]
pub(crate) fn std_wake(word: &AtomicU32, count: u32) -> bool {
    services::wake(word, count)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod services {
    use core::sync::atomic::AtomicU32;

    use revoff_device::arch;

    pub(super) fn wait(_word: &AtomicU32, _expected: u32, attempt: u32, _nanoseconds: u64) -> bool {
        arch::pause(attempt);
        false
    }

    pub(super) fn wake(_word: &AtomicU32, _count: u32) -> bool {
        false
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod services {
    use core::ptr;
    use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

    use revoff_device::arch;
    use revoff_device::shared_abi::host_arch::HostWait;

    /// The host's services; null if the host is older.
    #[unsafe(export_name = "__revoff_host_wait")]
    static HOST_WAIT: AtomicPtr<HostWait> = AtomicPtr::new(ptr::null_mut());

    fn table() -> Option<&'static HostWait> {
        // Relaxed: the host writes it before it starts the first device thread, and starting a thread
        // orders the write.
        let table = HOST_WAIT.load(Ordering::Relaxed);
        // SAFETY: null, or what the host wrote: a table that outlives every thread that runs code of
        // this image, never written again.
        unsafe { table.as_ref() }
    }

    pub(super) fn wait(word: &AtomicU32, expected: u32, attempt: u32, nanoseconds: u64) -> bool {
        let Some(table) = table() else {
            arch::pause(attempt);
            return false;
        };
        // SAFETY: `wait` takes any word that lives until it returns, from any thread; this one is borrowed.
        unsafe { (table.wait)(word.as_ptr(), expected, attempt, nanoseconds) != 0 }
    }

    pub(super) fn wake(word: &AtomicU32, count: u32) -> bool {
        // SAFETY: `wake` takes any address, from any thread, and accesses nothing there.
        table().is_some_and(|table| unsafe { (table.wake)(word.as_ptr(), count) != 0 })
    }
}
