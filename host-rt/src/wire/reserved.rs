//! Device memory that the runtime keeps for itself: the claims, and the variables of images that
//! the host writes. Where a call's results and its completion word go is the device's word; here
//! they must not go, or device code would follow what it finds there.

use crate::device::DeviceError;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The reserved ranges of a device, by address; none overlaps another.
#[derive(Debug, Default)]
pub(crate) struct Reserved(RwLock<BTreeMap<u64, u64>>);

/// Device memory that calls from kernels must not change, as long as this lives: results and
/// completion words that would go there are refused.
#[derive(Debug)]
pub struct Reservation {
    of: Arc<Reserved>,
    address: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut ranges = self.of.0.write().unwrap_or_else(PoisonError::into_inner);
        ranges.remove(&self.address);
    }
}

impl Reserved {
    /// Reserves `len` bytes at `address`, which no other reservation has.
    pub(crate) fn reserve(self: &Arc<Self>, address: u64, len: u64) -> Reservation {
        let mut ranges = self.0.write().unwrap_or_else(PoisonError::into_inner);
        ranges.insert(address, len);
        drop(ranges);
        Reservation {
            of: Arc::clone(self),
            address,
        }
    }

    /// # Errors
    /// The `len` bytes at `address`, which the host is about to write, are not all the device's.
    pub(super) fn check(&self, address: u64, len: usize) -> Result<(), DeviceError> {
        let len = len as u64;
        let ranges = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let before_end = ranges.range(..address.saturating_add(len)).next_back();
        match before_end {
            Some((&start, &size)) if start.saturating_add(size) > address => {
                Err(DeviceError::Unreachable {
                    address,
                    len,
                    what: "the runtime's own variables",
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_touches_a_reserved_range_is_refused() {
        let reserved = Arc::new(Reserved::default());
        let first = reserved.reserve(100, 48);
        let _last = reserved.reserve(u64::MAX - 7, 8);
        let is_free = |address, len| reserved.check(address, len).is_ok();
        for (address, len) in [(0, 100), (148, 1), (148, 1 << 20), (0, 0)] {
            assert!(is_free(address, len), "{len} bytes at {address}");
        }
        for (address, len) in [(0, 101), (100, 1), (147, 8), (90, 500), (u64::MAX - 4, 4)] {
            assert!(!is_free(address, len), "{len} bytes at {address}");
        }
        drop(first);
        assert!(is_free(90, 500));
    }
}
