//! Saying which host region ended the process by `abort`.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null;
use std::sync::Once;

thread_local! {
    /// Name of the region that this thread runs: bytes that outlive it.
    static REGION: Cell<(*const u8, usize)> = const { Cell::new((null(), 0)) };
}

/// Runs `region`, which is called `name` in messages.
pub(crate) fn within<R>(name: &str, region: impl FnOnce() -> R) -> R {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    /// Puts back what there was, also if the region panics.
    struct Restore((*const u8, usize));
    impl Drop for Restore {
        fn drop(&mut self) {
            REGION.set(self.0);
        }
    }
    let _restore = Restore(REGION.replace((name.as_ptr(), name.len())));
    region()
}

/// Unless the program has a handler of its own.
fn install() {
    // SAFETY: plain calls with a structure that is all zeros before; the handler does what
    // handlers may.
    unsafe {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(libc::SIGABRT, std::ptr::null(), now.as_mut_ptr()) != 0
            || now.assume_init().sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = say as *const () as libc::sighandler_t;
        // After it, the signal does what it does by itself.
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn say(_signal: libc::c_int) {
    let (name, len) = REGION.get();
    if !name.is_null() {
        write(b"\nlibgomp: the host function of the target region `");
        // SAFETY: `within` set it, and has not returned: its `name` is alive.
        write(unsafe { std::slice::from_raw_parts(name, len) });
        write(b"` has called abort\n");
    }
    // Also where it was somebody else who sent the signal: it ends the process when this
    // handler returns, which is no handler any more.
    // SAFETY: a signal handler may call it.
    unsafe { libc::raise(libc::SIGABRT) };
}

fn write(bytes: &[u8]) {
    // SAFETY: readable bytes; a signal handler may call it.
    unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}
