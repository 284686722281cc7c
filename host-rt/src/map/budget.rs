//! A limit for the host memory of all requests of a runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The memory that a request may hold without being counted. Requests in flight together then hold
/// little more than the limit, and calls with small arguments share no counter.
pub(super) const UNCOUNTED: u64 = 4096;

/// The memory of a runtime's requests in flight, and of staging buffers.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes, all of them free.
    #[must_use]
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicU64::new(0),
        })
    }

    /// Bytes that are held, without those of small requests.
    #[must_use]
    pub(crate) fn used(&self) -> u64 {
        // Relaxed, here and below: a count, which orders no memory.
        self.used.load(Ordering::Relaxed)
    }

    /// A share of `bytes` bytes, until it is dropped; `None` if there is no room. Always counted: unlike requests,
    /// there may be any number of them.
    pub(crate) fn share(self: &Arc<Self>, bytes: u64) -> Option<BudgetShare> {
        self.take(bytes).then(|| BudgetShare {
            budget: Arc::clone(self),
            held: bytes,
        })
    }

    fn take(&self, bytes: u64) -> bool {
        let take = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }
}

/// The reason why a request is denied memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    /// Bytes that other requests hold.
    pub(super) used: u64,
    pub(super) limit: u64,
}

/// A share of a budget.
#[derive(Debug)]
pub(crate) struct BudgetShare {
    budget: Arc<Budget>,
    held: u64,
}

impl BudgetShare {
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, held: 0 }
    }

    /// Increases the share to `total` bytes.
    ///
    /// # Errors
    /// The sum over all requests would exceed the limit. Nothing has changed then.
    pub(super) fn grow_to(&mut self, total: u64) -> Result<(), OverBudget> {
        if total <= UNCOUNTED {
            return Ok(());
        }
        if !self.budget.take(total - self.held) {
            return Err(OverBudget {
                used: self.budget.used().saturating_sub(self.held),
                limit: self.budget.limit,
            });
        }
        self.held = total;
        Ok(())
    }

    /// Returns the whole share.
    pub(super) fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held > 0 {
            self.budget.used.fetch_sub(held, Ordering::Relaxed);
        }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.release();
    }
}
