//! Kernels that have passed their deadline and run on: what they may still use is not freed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::lock::lock;
use crate::device::Running;

/// The overdue kernels of a runtime.
#[derive(Default)]
pub(super) struct Overdue {
    /// Allocations so far.
    allocations: AtomicU64,
    /// Each with the number of allocations when it passed its deadline.
    kernels: Mutex<Vec<(u64, Arc<dyn Running>)>>,
}

impl Overdue {
    /// The number of a new allocation.
    pub(super) fn next_allocation(&self) -> u64 {
        // Relaxed: who shares an allocation with a kernel has ordered the two.
        self.allocations.fetch_add(1, Ordering::Relaxed)
    }

    /// A kernel has passed its deadline.
    pub(super) fn add(&self, kernel: &Arc<dyn Running>) {
        let mut kernels = lock(&self.kernels);
        if !kernels.iter().any(|(_, known)| Arc::ptr_eq(known, kernel)) {
            // Relaxed: as above.
            let allocations = self.allocations.load(Ordering::Relaxed);
            kernels.push((allocations, Arc::clone(kernel)));
        }
    }

    /// Whether an overdue kernel that may know of an allocation still runs: it may if the
    /// allocation was there when the kernel passed its deadline. Later ones it knows only from a
    /// host function that answers its calls, whose own affair they are.
    pub(super) fn may_use(&self, allocation: u64) -> bool {
        let kernels = lock(&self.kernels).clone();
        // Unlocked: to ask a kernel may call its driver.
        let (ended, running): (Vec<_>, Vec<_>) = kernels
            .into_iter()
            .partition(|(_, kernel)| kernel.is_done());
        lock(&self.kernels)
            .retain(|(_, kernel)| !ended.iter().any(|(_, ended)| Arc::ptr_eq(ended, kernel)));
        running.iter().any(|&(count, _)| allocation < count)
    }
}
