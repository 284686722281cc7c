//! Device memory that is reserved for the runtime: the claims, and the variables of images that the
//! host writes. A device supplies the addresses of a call's results and completion word. They must
//! not be in reserved memory, since device code trusts its contents.

use crate::device::{DeviceAddr, DeviceError};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The reserved ranges of a device: lengths by address, without overlaps.
#[derive(Debug, Default)]
pub(crate) struct Reserved(RwLock<BTreeMap<DeviceAddr, u64>>);

/// Protects a range of device memory from calls until it is dropped: results and completion words
/// with addresses in the range are refused.
#[derive(Debug)]
pub struct Reservation {
    reserved: Arc<Reserved>,
    address: DeviceAddr,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut ranges = self
            .reserved
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        ranges.remove(&self.address);
    }
}

impl Reserved {
    /// Reserves `len` bytes at `address`, which no other reservation overlaps.
    pub(crate) fn reserve(self: &Arc<Self>, address: DeviceAddr, len: u64) -> Reservation {
        let mut ranges = self.0.write().unwrap_or_else(PoisonError::into_inner);
        ranges.insert(address, len);
        drop(ranges);
        Reservation {
            reserved: Arc::clone(self),
            address,
        }
    }

    /// Checks that the host may write `len` bytes at `address`.
    ///
    /// # Errors
    /// [`DeviceError::Unreachable`] if one of them is reserved.
    pub(super) fn check(&self, address: DeviceAddr, len: usize) -> Result<(), DeviceError> {
        let len = len as u64;
        let ranges = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let end = DeviceAddr(address.0.saturating_add(len));
        let before_end = ranges.range(..end).next_back();
        match before_end {
            Some((&start, &size)) if start.0.saturating_add(size) > address.0 => {
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
        let first = reserved.reserve(DeviceAddr(100), 48);
        let _last = reserved.reserve(DeviceAddr(u64::MAX - 7), 8);
        let is_free = |address, len| reserved.check(DeviceAddr(address), len).is_ok();
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
