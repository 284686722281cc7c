//! How much host memory all requests of a runtime may hold at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a request may hold without being counted: as many requests as are in flight at most hold
/// little more than this many bytes each, and calls with small arguments share no counter.
pub(super) const UNCOUNTED: u64 = 4096;

/// The memory of a runtime's requests in flight.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes, all of them free.
    #[must_use]
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicU64::new(0),
        })
    }

    /// Bytes that requests hold, but for those of small requests.
    #[must_use]
    pub fn used(&self) -> u64 {
        // Relaxed, here and below: a count; no memory is passed on by it.
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> bool {
        let take = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }
}

/// Why a request is refused memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    /// What other requests hold.
    pub(super) used: u64,
    pub(super) limit: u64,
}

/// What one request holds of a budget.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    held: u64,
}

impl Share {
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, held: 0 }
    }

    /// Holds `total` bytes from now on, at least as many as before.
    ///
    /// # Errors
    /// With those of other requests they would be too many. Nothing has changed then.
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

    /// Gives everything back.
    pub(super) fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held > 0 {
            self.budget.used.fetch_sub(held, Ordering::Relaxed);
        }
    }
}
