//! Wires of single launches, which GCC's kernels for AMD GPUs receive in their arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::poller::ServedWire;
use super::{Server, lock};
use crate::device::DeviceError;
use crate::wire::WireParts;
use crate::wire::gcn_queue::GcnQueue;

/// Maximum number of spare queues.
const MAX_SPARE: usize = 32;

/// A `gcn-queue` wire for a single launch, see [`Kernel::launch_on`](crate::Kernel::launch_on).
/// Dropping it makes the wire available to other launches.
pub struct LaunchQueue {
    server: Arc<Server>,
    /// `None` only after the drop.
    entry: Option<Entry>,
}

/// A queue and its served wire.
struct Entry {
    queue: GcnQueue,
    served: Arc<ServedWire>,
}

/// The launch queues of a device.
#[derive(Default)]
pub(super) struct LaunchQueues {
    spare: Mutex<Vec<Entry>>,
    /// The number of queues in use. Their messages do not wake the host.
    used: AtomicUsize,
}

impl LaunchQueues {
    pub(super) fn are_used(&self) -> bool {
        // Relaxed: stored before the launch, and loaded again after every sleep.
        self.used.load(Ordering::Relaxed) != 0
    }
}

impl Server {
    /// A queue for one launch, reused or new.
    ///
    /// # Errors
    /// If mapped memory for a new one cannot be allocated.
    pub(crate) fn launch_queue(self: &Arc<Self>) -> Result<LaunchQueue, DeviceError> {
        let queues = &self.wires.launch_queues;
        let spare = lock(&queues.spare).pop();
        let entry = match spare {
            Some(entry) => entry,
            None => self.new_launch_queue()?,
        };
        // Relaxed: the launch orders it.
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
            None => unreachable!("only the drop takes the entry"),
        }
    }

    /// Device address of the [`GcnQueue`](shared_abi::wire::gcn_queue::GcnQueue).
    #[must_use]
    pub fn address(&self) -> u64 {
        self.entry().served.wire.address()
    }

    /// The return value of its kernel.
    pub(crate) fn return_value(&self) -> i32 {
        self.entry().queue.return_value()
    }

    /// Whether it is a queue of `server`.
    pub(crate) fn is_of(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }

    /// Assigns the queue to the launch `key`, which its calls and errors are reported for.
    pub(crate) fn belongs_to(&self, key: u32) {
        // Relaxed: the launch orders it.
        self.entry().served.launch.store(key, Ordering::Relaxed);
    }
}

impl Drop for LaunchQueue {
    fn drop(&mut self) {
        let queues = &self.server.wires.launch_queues;
        if let Some(entry) = self.entry.take() {
            let mut spare = lock(&queues.spare);
            if spare.len() < MAX_SPARE && entry.queue.reset() {
                spare.push(entry);
            } else {
                // Relaxed: `request_refresh` orders it.
                entry.served.retired.store(true, Ordering::Relaxed);
                self.server.poller.request_refresh();
            }
        }
        // Relaxed: a poller that reads the old value only sleeps for shorter times.
        queues.used.fetch_sub(1, Ordering::Relaxed);
    }
}
