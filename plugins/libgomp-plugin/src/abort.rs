//! Reports which host region ended the process by `abort`.
//!
//! A signal may arrive at any time, in any thread: its handler reads only atomics that always
//! exist. (Thread-local variables of a shared object that was loaded later may be allocated at
//! their first access.)

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// A region's name in messages. It lives until the process ends, like its image.
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
    /// Its number in the system; 0 if the entry is unused. After its end, another thread may get
    /// the number, with a later entry.
    id: AtomicI32,
    /// The region that it runs.
    region: AtomicPtr<Name>,
}

/// Maximum threads with an entry; the regions of others are not named.
const MAX_THREADS: usize = 256;

static THREADS: [Thread; MAX_THREADS] = [const {
    Thread {
        id: AtomicI32::new(0),
        region: AtomicPtr::new(null_mut()),
    }
}; MAX_THREADS];

/// The number of used entries.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread's entry, if it has one; searched for once.
    static PLACE: Cell<Option<Option<&'static Thread>>> = const { Cell::new(None) };
}

fn this_thread() -> Option<&'static Thread> {
    if let Some(place) = PLACE.get() {
        return place;
    }
    // Relaxed: each index is drawn once, and orders nothing else.
    let place = THREADS.get(KNOWN.fetch_add(1, Ordering::Relaxed));
    if let Some(place) = place {
        // SAFETY: it takes no arguments.
        let id = unsafe { libc::gettid() };
        // Relaxed: read only by this thread's own signal handler.
        place.id.store(id, Ordering::Relaxed);
    }
    PLACE.set(Some(place));
    place
}

/// Runs `region`, which is called `name` in messages.
pub(crate) fn within<R>(name: &'static Name, region: impl FnOnce() -> R) -> R {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    /// Restores the previous region, even after a panic.
    struct Restore(&'static Thread, *mut Name);
    impl Drop for Restore {
        fn drop(&mut self) {
            // Relaxed: read only by this thread's own signal handler.
            self.0.region.store(self.1, Ordering::Relaxed);
        }
    }
    let name = std::ptr::from_ref(name).cast_mut();
    // Relaxed: read only by this thread's own signal handler.
    let _restore =
        this_thread().map(|thread| Restore(thread, thread.region.swap(name, Ordering::Relaxed)));
    region()
}

/// Installs the handler, unless the program has its own.
fn install() {
    // SAFETY: plain calls with the system's structures, initialised with zeros; `say` has the type
    // of a handler without `SA_SIGINFO`, and only makes calls that a handler may make.
    unsafe {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(libc::SIGABRT, std::ptr::null(), now.as_mut_ptr()) != 0
            || now.assume_init().sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = say as *const () as libc::sighandler_t;
        // After it, the signal's default action applies.
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGABRT, &raw const action, null_mut());
    }
}

extern "C" fn say(_signal: libc::c_int) {
    // SAFETY: it takes no arguments; a signal handler may call it.
    let id = unsafe { libc::gettid() };
    let region = region_of(&THREADS, id);
    // SAFETY: null, or stored by `within`, and never freed.
    if let Some(name) = unsafe { region.as_ref() } {
        write(b"\nlibgomp: the host function of the target region `");
        write(name.0.as_bytes());
        write(b"` has called abort\n");
    }
    // Even if another process has sent the signal: it ends the process when this handler returns,
    // which is uninstalled now.
    // SAFETY: a signal handler may call it.
    unsafe { libc::raise(libc::SIGABRT) };
}

/// The region of the thread with this number; null if it runs none. Threads that have ended run
/// none.
fn region_of(threads: &[Thread], id: i32) -> *mut Name {
    // Relaxed, both: this thread's own stores.
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
