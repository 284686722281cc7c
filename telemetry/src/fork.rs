//! Children that were forked: they have copies of locks that nobody unlocks, of records that the parent writes, and of a
//! socket that is its.

use std::os::fd::RawFd;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// A descriptor that children close; negative for none.
static CLOSED: AtomicI32 = AtomicI32::new(-1);

/// Whether this process is a child that was forked since [`watch`] was called first.
pub(crate) fn is_child() -> bool {
    // Relaxed: only the thread that forks exists when it is set.
    IS_CHILD.load(Ordering::Relaxed)
}

/// Notices forks from now on.
pub(crate) fn watch() {
    extern "C" fn begin_child() {
        // Relaxed, both: as there.
        IS_CHILD.store(true, Ordering::Relaxed);
        let closed = CLOSED.load(Ordering::Relaxed);
        if closed >= 0 {
            // SAFETY: `close_in_children` got it, and nobody else in the child uses it: its thread is the parent's.
            unsafe { libc::close(closed) };
        }
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: `begin_child` stays as long as this library, and does only what a handler may. Without memory, forks are
        // not noticed.
        unsafe { libc::pthread_atfork(None, None, Some(begin_child)) };
    });
}

/// Makes children close a descriptor that this process keeps open.
pub(crate) fn close_in_children(descriptor: RawFd) {
    // Relaxed: a child that does not see it keeps the descriptor until it ends.
    CLOSED.store(descriptor, Ordering::Relaxed);
}
