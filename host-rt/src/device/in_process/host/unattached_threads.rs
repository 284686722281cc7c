//! Threads that a kernel has started itself, such as those of OpenMP's runtime. They call the host
//! like device threads, but look like any other thread of the process.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use shared_abi::host_arch::ThreadContext;

use super::active_launches;

/// The number for the next such thread. They follow those of a launch of one thread, so that each
/// searches for its slots in a different place.
static NEXT: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// This thread's context, once it is known. Code of images reads it meanwhile.
    static CONTEXT: Cell<ThreadContext> = const {
        Cell::new(ThreadContext {
            team: 0,
            teams: 1,
            // No thread has this number.
            thread: 0,
            threads: 1,
            launch: 0,
            reserved: 0,
            stack_low: 0,
            stack_high: 0,
        })
    };
}

/// The context of the calling thread, which runs no kernel; null if no kernel is running. Valid as
/// long as the thread lives.
pub(super) fn context() -> *const ThreadContext {
    let Some(launch) = active_launches::key() else {
        return std::ptr::null();
    };
    CONTEXT.with(|cell| {
        let mut context = cell.get();
        if context.thread == 0 {
            (context.stack_low, context.stack_high) = stack();
            while context.thread == 0 {
                // Relaxed: only uniqueness matters.
                context.thread = NEXT.fetch_add(1, Ordering::Relaxed);
            }
            cell.set(context);
        }
        if context.launch != launch {
            context.launch = launch;
            cell.set(context);
        }
        cell.as_ptr().cast_const()
    })
}

/// The bounds of this thread's stack; an empty range if the system does not know them.
fn stack() -> (u64, u64) {
    // SAFETY: plain data, which may be zeros.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: this thread exists, and `attributes` is a place for attributes.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) } != 0 {
        return (0, 0);
    }
    let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes were just filled in, and are destroyed once.
    let failed = unsafe {
        let failed =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes);
        libc::pthread_attr_destroy(&raw mut attributes);
        failed != 0
    };
    if failed {
        return (0, 0);
    }
    let low = low.addr() as u64;
    (low, low + bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_lies_on_its_threads_stack() {
        let inside = || {
            let variable = 0u8;
            let (low, high) = stack();
            (low..high).contains(&((&raw const variable).addr() as u64))
        };
        assert!(inside());
        assert!(std::thread::spawn(inside).join().expect("no panic"));
    }
}
