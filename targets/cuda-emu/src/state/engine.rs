//! The one copy engine of a context, where the settings say so. It performs the copies of all streams in
//! the order in which they were queued; one that waits for a kernel delays all later ones.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use emu_driver::process::lock;

use super::progress::Progress;

/// The engine.
#[derive(Default)]
pub(crate) struct Engine {
    /// Locked while a copy draws its ticket and is queued: within a stream, tickets are in order.
    pub(crate) order: Mutex<()>,
    queued: Mutex<Queued>,
    changed: Condvar,
}

#[derive(Default)]
struct Queued {
    next: u64,
    not_done: BTreeSet<u64>,
}

impl Engine {
    /// The ticket after all unfinished ones. `order` is locked.
    pub(crate) fn ticket(self: &Arc<Self>) -> Ticket {
        let mut queued = lock(&self.queued);
        let number = queued.next;
        queued.next += 1;
        queued.not_done.insert(number);
        Ticket {
            engine: Arc::clone(self),
            number,
        }
    }
}

/// A copy's place in the engine's order, until it is dropped.
pub(crate) struct Ticket {
    engine: Arc<Engine>,
    number: u64,
}

impl Ticket {
    /// Waits for its turn, unless the context breaks.
    pub(crate) fn wait(&self, progress: &Progress) {
        let mut queued = lock(&self.engine.queued);
        while queued.not_done.first() != Some(&self.number) && progress.broken().is_none() {
            // Breaking a context wakes no thread here.
            let tick = Duration::from_millis(10);
            let waited = self.engine.changed.wait_timeout(queued, tick);
            queued = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.engine.queued).not_done.remove(&self.number);
        self.engine.changed.notify_all();
    }
}
