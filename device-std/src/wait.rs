//! Waiting for a word of memory, as std does it. On the `host` device, the system wakes threads; on GPUs,
//! which have no scheduler, they poll.

use core::sync::atomic::AtomicU32;

use crate::threads::stop_if_ended;

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

    use device_rt::arch;

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

    use device_rt::arch;
    use device_rt::shared_abi::host_arch::HostWait;

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
        // SAFETY: a word that is borrowed during the wait.
        unsafe { (table.wait)(word.as_ptr(), expected, attempt, nanoseconds) != 0 }
    }

    pub(super) fn wake(word: &AtomicU32, count: u32) -> bool {
        // SAFETY: a word.
        table().is_some_and(|table| unsafe { (table.wake)(word.as_ptr(), count) != 0 })
    }
}
