//! Memory orders that the names of functions have.

use std::sync::atomic::Ordering;

/// The order of an exchange that does not happen.
pub(super) const fn without_store(order: Ordering) -> Ordering {
    match order {
        Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
        _ => Ordering::Relaxed,
    }
}
