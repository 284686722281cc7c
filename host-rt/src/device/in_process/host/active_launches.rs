//! The running launches of `host` devices, for threads that a kernel has started itself: such a
//! thread belongs to no particular launch, but can still call the host.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::lock;

/// Wakes the threads that serve a launch.
type WakeHost = Arc<dyn Fn() + Send + Sync>;

static LAUNCHES: Mutex<Launches> = Mutex::new(Launches {
    last_id: 0,
    all: Vec::new(),
});

/// The number of launches in the upper half; the key of a single one in the lower. Written under
/// the lock of the list.
static SUMMARY: AtomicU64 = AtomicU64::new(0);

struct Launches {
    last_id: u64,
    all: Vec<Launch>,
}

struct Launch {
    id: u64,
    key: u32,
    wake_host: WakeHost,
}

impl Launches {
    fn summarize(&self) {
        let key = match &*self.all {
            [only] => only.key,
            _ => 0,
        };
        let summary = (self.all.len() as u64) << 32 | u64::from(key);
        // Relaxed: a kernel starts a thread or gives it work after its launch has begun, and orders
        // the two.
        SUMMARY.store(summary, Ordering::Relaxed);
    }
}

/// A running launch, until this is dropped.
pub(super) struct ActiveLaunch {
    id: u64,
}

/// Adds a launch with this key, whose serving threads `wake_host` wakes.
pub(super) fn begin(key: u32, wake_host: &WakeHost) -> ActiveLaunch {
    let mut launches = lock(&LAUNCHES);
    launches.last_id += 1;
    let id = launches.last_id;
    let wake_host = Arc::clone(wake_host);
    launches.all.push(Launch { id, key, wake_host });
    launches.summarize();
    ActiveLaunch { id }
}

impl Drop for ActiveLaunch {
    fn drop(&mut self) {
        let mut launches = lock(&LAUNCHES);
        if let Some(at) = launches.all.iter().position(|launch| launch.id == self.id) {
            let ended = launches.all.swap_remove(at);
            launches.summarize();
            drop(launches);
            // Dropped without the lock, since it may own a whole runtime.
            drop(ended);
        }
    }
}

/// The key for a thread of no launch: that of the only running launch; 0 if there are several,
/// `None` if there is none.
pub(super) fn key() -> Option<u32> {
    // Relaxed: see `summarize`.
    let summary = SUMMARY.load(Ordering::Relaxed);
    (summary != 0).then_some(summary as u32)
}

/// Wakes the threads that serve any of them.
pub(super) fn wake_host() {
    for launch in &lock(&LAUNCHES).all {
        (launch.wake_host)();
    }
}
