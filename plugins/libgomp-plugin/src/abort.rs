//! Saying which host region ended the process by `abort`.
//!
//! A signal may come at any time, in any thread: its handler looks at nothing but atomics
//! that are always there. (Thread-local variables of a shared object that was loaded later
//! may be allocated when they are first looked at.)

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// A region's name in messages. It stays until the process ends, as its image does.
pub(crate) struct Name(&'static str);

impl Name {
    pub(crate) fn new(name: String) -> &'static Self {
        Box::leak(Box::new(Self(name.leak())))
    }

    pub(crate) fn text(&self) -> &'static str {
        self.0
    }
}

/// A thread that runs host regions.
struct Thread {
    /// Its number in the system; 0 while nobody has it. When it has ended, another thread may get
    /// the number, and a place of its own behind this one.
    id: AtomicI32,
    /// The region that it runs.
    region: AtomicPtr<Name>,
}

/// Most threads that are known; the regions of others are not named.
const MOST: usize = 256;

static THREADS: [Thread; MOST] = [const {
    Thread {
        id: AtomicI32::new(0),
        region: AtomicPtr::new(null_mut()),
    }
}; MOST];

/// As many of them as are somebody's.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread's place among them, if it has one; looked for once.
    static PLACE: Cell<Option<Option<&'static Thread>>> = const { Cell::new(None) };
}

fn this_thread() -> Option<&'static Thread> {
    if let Some(place) = PLACE.get() {
        return place;
    }
    // Relaxed: each number is drawn once, and nothing else is in it.
    let place = THREADS.get(KNOWN.fetch_add(1, Ordering::Relaxed));
    if let Some(place) = place {
        // SAFETY: it asks for nothing.
        let id = unsafe { libc::gettid() };
        // Relaxed: read by this thread's own signal handler alone.
        place.id.store(id, Ordering::Relaxed);
    }
    PLACE.set(Some(place));
    place
}

/// Runs `region`, which is called `name` in messages.
pub(crate) fn within<R>(name: &'static Name, region: impl FnOnce() -> R) -> R {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    /// Puts back what there was, also if the region panics.
    struct Restore(&'static Thread, *mut Name);
    impl Drop for Restore {
        fn drop(&mut self) {
            // Relaxed: as where it is set.
            self.0.region.store(self.1, Ordering::Relaxed);
        }
    }
    let name = std::ptr::from_ref(name).cast_mut();
    // Relaxed: this thread's own, for a handler that runs on it.
    let _restore =
        this_thread().map(|thread| Restore(thread, thread.region.swap(name, Ordering::Relaxed)));
    region()
}

/// Unless the program has a handler of its own.
fn install() {
    // SAFETY: plain calls with structures of the system's that are all zeros before; `say`
    // has the type of a handler without `SA_SIGINFO`, and calls nothing that a handler may
    // not.
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
        libc::sigaction(libc::SIGABRT, &raw const action, null_mut());
    }
}

extern "C" fn say(_signal: libc::c_int) {
    // SAFETY: it asks for nothing; a signal handler may call it.
    let id = unsafe { libc::gettid() };
    let region = region_of(&THREADS, id);
    // SAFETY: null, or what `within` has stored, which is never freed.
    if let Some(name) = unsafe { region.as_ref() } {
        write(b"\nlibgomp: the host function of the target region `");
        write(name.0.as_bytes());
        write(b"` has called abort\n");
    }
    // Also where it was somebody else who sent the signal: it ends the process when this
    // handler returns, which is no handler any more.
    // SAFETY: a signal handler may call it.
    unsafe { libc::raise(libc::SIGABRT) };
}

/// The region that the thread with this number runs; null if it runs none. Threads that have ended
/// run none.
fn region_of(threads: &[Thread], id: i32) -> *mut Name {
    // Relaxed, both: what this thread has stored itself.
    let mut of_it = threads
        .iter()
        .filter(|thread| thread.id.load(Ordering::Relaxed) == id)
        .map(|thread| thread.region.load(Ordering::Relaxed));
    of_it.find(|region| !region.is_null()).unwrap_or(null_mut())
}

fn write(bytes: &[u8]) {
    // SAFETY: readable bytes; a signal handler may call it.
    unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_have_been_another_threads() {
        let name = std::ptr::from_ref(Name::new("main._omp_fn.1".to_owned())).cast_mut();
        let thread = |id, region| Thread {
            id: AtomicI32::new(id),
            region: AtomicPtr::new(region),
        };
        let threads = [
            thread(7, null_mut()),
            thread(8, null_mut()),
            thread(7, name),
            thread(0, null_mut()),
        ];
        assert_eq!(
            [7, 8, 9].map(|id| region_of(&threads, id)),
            [name, null_mut(), null_mut()]
        );
    }
}
