//! Wires of single launches, which GCC's kernels for AMD GPUs receive in their arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::served_wire::ServedWire;
use super::{Server, lock};
use crate::device::{DeviceAddr, DeviceError};
use crate::wire::WireParts;
use crate::wire::gcn_queue::GcnQueue;

/// Maximum number of spare wires.
const MAX_SPARE: usize = 32;

/// A `gcn-queue` wire for a single launch, see [`Kernel::launch_on`](crate::Kernel::launch_on).
/// Dropping it makes the wire available to other launches.
pub struct LaunchWire {
    server: Arc<Server>,
    /// `None` only after the drop.
    pooled: Option<PooledWire>,
}

/// A wire in use or spare.
struct PooledWire {
    queue: GcnQueue,
    served: Arc<ServedWire>,
}

/// The wires of single launches of a device.
#[derive(Default)]
pub(super) struct LaunchWires {
    spare: Mutex<Vec<PooledWire>>,
    /// The number of wires in use. Their messages do not wake the host.
    used: AtomicUsize,
}

impl LaunchWires {
    pub(super) fn are_used(&self) -> bool {
        // Relaxed: stored before the launch, and loaded again after every sleep.
        self.used.load(Ordering::Relaxed) != 0
    }
}

impl Server {
    /// A wire for one launch, reused or new.
    ///
    /// # Errors
    /// If mapped memory for a new one cannot be allocated.
    pub(crate) fn launch_wire(self: &Arc<Self>) -> Result<LaunchWire, DeviceError> {
        let wires = &self.wires.launch_wires;
        let spare = lock(&wires.spare).pop();
        let pooled = match spare {
            Some(pooled) => pooled,
            None => self.new_launch_wire()?,
        };
        // Relaxed: the launch orders it.
        wires.used.fetch_add(1, Ordering::Relaxed);
        Ok(LaunchWire {
            server: Arc::clone(self),
            pooled: Some(pooled),
        })
    }

    fn new_launch_wire(&self) -> Result<PooledWire, DeviceError> {
        let _attaching = lock(&self.wires.attaching);
        let common = self.common()?;
        let memory = self.device.alloc_mapped(GcnQueue::BYTES)?;
        // SAFETY: `WireParts` keeps the wire beside the poller.
        let (queue, poller) = unsafe { GcnQueue::new(memory, 0, &common.access) };
        let served = self.serve_wire(WireParts::new(Arc::clone(queue.wire()), poller));
        Ok(PooledWire { queue, served })
    }
}

impl LaunchWire {
    fn pooled(&self) -> &PooledWire {
        match &self.pooled {
            Some(pooled) => pooled,
            None => unreachable!("only the drop takes the wire"),
        }
    }

    /// Device address of the [`GcnQueue`](shared_abi::wire::gcn_queue::GcnQueue).
    #[must_use]
    pub fn address(&self) -> DeviceAddr {
        self.pooled().served.wire.address()
    }

    /// The return value of its kernel.
    pub(crate) fn return_value(&self) -> i32 {
        self.pooled().queue.return_value()
    }

    /// Whether it is a wire of `server`.
    pub(crate) fn is_of(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }

    /// Assigns the wire to the launch `key`, which its calls and errors are reported for.
    pub(crate) fn assign_to(&self, key: u32) {
        // Relaxed: the launch orders it.
        self.pooled().served.launch.store(key, Ordering::Relaxed);
    }
}

impl Drop for LaunchWire {
    fn drop(&mut self) {
        let wires = &self.server.wires.launch_wires;
        if let Some(pooled) = self.pooled.take() {
            let mut spare = lock(&wires.spare);
            if spare.len() < MAX_SPARE && pooled.queue.reset() {
                spare.push(pooled);
            } else {
                // Relaxed: `request_refresh` orders it.
                pooled.served.retired.store(true, Ordering::Relaxed);
                self.server.poller.request_refresh();
            }
        }
        // Relaxed: a poller that reads the old value only sleeps for shorter times.
        wires.used.fetch_sub(1, Ordering::Relaxed);
    }
}
