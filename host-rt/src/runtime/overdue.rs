//! Kernels that have passed their deadline and still run. Memory that they may use and that is dropped
//! while they run is never freed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::lock::lock;
use crate::device::Running;

/// The overdue kernels of a runtime.
#[derive(Default)]
pub(super) struct Overdue {
    /// The number of allocations so far.
    allocations: AtomicU64,
    /// Each kernel with the value of `allocations` when it passed its deadline.
    kernels: Mutex<Vec<(u64, Arc<dyn Running>)>>,
}

impl Overdue {
    /// The number of a new allocation.
    pub(super) fn next_allocation(&self) -> u64 {
        // Relaxed: a thread that passes an allocation to a kernel has ordered this before the
        // launch by other means.
        self.allocations.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a kernel that has passed its deadline.
    pub(super) fn add(&self, kernel: &Arc<dyn Running>) {
        let mut kernels = lock(&self.kernels);
        if !kernels.iter().any(|(_, known)| Arc::ptr_eq(known, kernel)) {
            // Relaxed: as above.
            let allocations = self.allocations.load(Ordering::Relaxed);
            kernels.push((allocations, Arc::clone(kernel)));
        }
    }

    /// Whether an overdue kernel that still runs may use an allocation: it may if the allocation
    /// was made before the kernel passed its deadline. A kernel can learn the address of a later
    /// allocation only from a host function, which then has to keep it allocated.
    pub(super) fn may_use(&self, allocation: u64) -> bool {
        let kernels = lock(&self.kernels).clone();
        // The lock is not held here, because `is_done` may call the driver.
        let (ended, running): (Vec<_>, Vec<_>) = kernels
            .into_iter()
            .partition(|(_, kernel)| kernel.is_done());
        lock(&self.kernels)
            .retain(|(_, kernel)| !ended.iter().any(|(_, ended)| Arc::ptr_eq(ended, kernel)));
        running.iter().any(|&(count, _)| allocation < count)
    }
}
