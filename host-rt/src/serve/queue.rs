//! Wires that are one launch's own: what kernels of GCC's for AMD GPUs take from their
//! arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::poller::Served;
use super::{Server, lock};
use crate::device::DeviceError;
use crate::wire::WireParts;
use crate::wire::gcn_queue::GcnQueue;

/// Most that are kept for further launches.
const MOST_SPARE: usize = 32;

/// A wire `gcn-queue` that one launch has for itself, see
/// [`Kernel::launch_on`](crate::Kernel::launch_on). Once that is dropped it is another's.
pub struct LaunchQueue {
    server: Arc<Server>,
    /// Taken by the drop.
    entry: Option<Entry>,
}

/// A queue, and what serves it.
struct Entry {
    queue: GcnQueue,
    served: Arc<Served>,
}

/// Those that the launches of a device have.
#[derive(Default)]
pub(super) struct LaunchQueues {
    spare: Mutex<Vec<Entry>>,
    /// As many as are some launch's. Their messages wake no host.
    used: AtomicUsize,
}

impl LaunchQueues {
    pub(super) fn are_used(&self) -> bool {
        // Relaxed: set before the launch, and read again after every sleep.
        self.used.load(Ordering::Relaxed) != 0
    }
}

impl Server {
    /// A wire for one launch.
    ///
    /// # Errors
    /// There is no mapped memory for it.
    pub(crate) fn launch_queue(self: &Arc<Self>) -> Result<LaunchQueue, DeviceError> {
        let queues = &self.wires.launch_queues;
        let spare = lock(&queues.spare).pop();
        let entry = match spare {
            Some(entry) => entry,
            None => self.new_launch_queue()?,
        };
        // Relaxed: see `are_used`.
        queues.used.fetch_add(1, Ordering::Relaxed);
        Ok(LaunchQueue {
            server: Arc::clone(self),
            entry: Some(entry),
        })
    }

    fn new_launch_queue(&self) -> Result<Entry, DeviceError> {
        let _attaching = lock(&self.wires.attaching);
        let common = self.common()?;
        let memory = self.device.alloc_mapped(GcnQueue::BYTES)?;
        let (queue, poller) = GcnQueue::new(memory, 0, &common.access);
        let served = self.serve_wire(WireParts::new(Arc::clone(queue.wire()), poller));
        Ok(Entry { queue, served })
    }
}

impl LaunchQueue {
    fn entry(&self) -> &Entry {
        match &self.entry {
            Some(entry) => entry,
            None => unreachable!("only the drop takes it"),
        }
    }

    /// Device address of it, a [`GcnQueue`](shared_abi::wire::gcn_queue::GcnQueue).
    #[must_use]
    pub fn address(&self) -> u64 {
        self.entry().served.wire.address()
    }

    /// What its kernel has left as its return value.
    pub(crate) fn return_value(&self) -> i32 {
        self.entry().queue.return_value()
    }

    /// Whether it is one of `server`'s.
    pub(crate) fn is_of(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }

    /// Has the launch `key` blamed for what is found there.
    pub(crate) fn belongs_to(&self, key: u32) {
        // Relaxed: starting the kernel orders it.
        self.entry().served.launch.store(key, Ordering::Relaxed);
    }
}

impl Drop for LaunchQueue {
    fn drop(&mut self) {
        let queues = &self.server.wires.launch_queues;
        if let Some(entry) = self.entry.take() {
            let mut spare = lock(&queues.spare);
            if spare.len() < MOST_SPARE && entry.queue.reset() {
                spare.push(entry);
            } else {
                // Relaxed: `change_sources` orders it.
                entry.served.retired.store(true, Ordering::Relaxed);
                self.server.poller.change_sources();
            }
        }
        // Relaxed: see `are_used`.
        queues.used.fetch_sub(1, Ordering::Relaxed);
    }
}
