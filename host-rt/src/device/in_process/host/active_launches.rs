//! The launches that are under way on devices of this kind, for threads that a kernel has
//! started itself: those belong to no launch that anybody could tell, and reach the host
//! all the same.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::lock;

/// Wakes the threads that serve a launch.
type WakeHost = Arc<dyn Fn() + Send + Sync>;

static LAUNCHES: Mutex<Launches> = Mutex::new(Launches {
    last_id: 0,
    all: Vec::new(),
});

/// Their number in the upper half, and in the lower one the key of the only one. Written
/// under the lock of the list.
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
        // Relaxed: a thread that a kernel has started, or set to work, comes after the
        // launch of it began by whatever started it.
        SUMMARY.store(summary, Ordering::Relaxed);
    }
}

/// A launch that is under way, until this is dropped.
pub(super) struct ActiveLaunch {
    id: u64,
}

/// The launch with this key, whose serving threads `wake_host` wakes, is under way.
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
            // What goes with it may be a whole runtime.
            drop(ended);
        }
    }
}

/// The key of the launch that a thread of no launch belongs to: the only one that is under
/// way; 0 where there are several, `None` where there is none.
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
