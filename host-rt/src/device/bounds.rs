//! Which addresses copies reach, and the errors for all others.

use std::collections::BTreeMap;

use super::{DeviceAddr, DeviceError};
use crate::base::ranges::AddrRange;

/// A range that begins in device memory but leaves its allocation.
pub(super) const NOT_ALLOCATED: &str = "device memory that is not (all) allocated";

/// A range that is not device memory of a GPU.
pub(super) const BEYOND: &str = "no device memory that a copy reaches: a device thread's stack, \
                                 memory that a kernel allocated, or a host address";

pub(super) fn unreachable(address: DeviceAddr, len: u64, what: &'static str) -> DeviceError {
    DeviceError::Unreachable { address, len, what }
}

/// Whether the range lies in one of the allocations, whose `sizes` the driver has rounded up to
/// multiples of `grain`; `None` if it begins in none.
pub(super) fn is_allocated(
    sizes: &BTreeMap<u64, u64>,
    grain: u64,
    address: DeviceAddr,
    len: u64,
) -> Option<bool> {
    let (&start, &size) = sizes.range(..=address.0).next_back()?;
    (address.0 - start < size.max(1).next_multiple_of(grain))
        .then(|| AddrRange::new(start, size).is_some_and(|memory| memory.has(address, len)))
}

/// Rejects misaligned addresses.
pub(super) fn check_word(address: DeviceAddr) -> Result<(), DeviceError> {
    if address.0.is_multiple_of(4) {
        Ok(())
    } else {
        Err(unreachable(address, 4, "not aligned for a word"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_allocated_if_one_allocation_has_all_of_it() {
        let sizes = BTreeMap::from([(1024, 100), (4096, 0)]);
        let allocated = |address, len| is_allocated(&sizes, 512, DeviceAddr(address), len);
        for (address, len) in [(1024, 100), (1123, 1), (1124, 0), (4096, 0)] {
            assert_eq!(allocated(address, len), Some(true), "{len} at {address}");
        }
        // The driver's allocation has these bytes.
        for (address, len) in [
            (1024, 101),
            (1124, 1),
            (1535, 1),
            (4096, 1),
            (1100, u64::MAX),
        ] {
            assert_eq!(allocated(address, len), Some(false), "{len} at {address}");
        }
        for address in [0, 1023, 1536, 4095, 4608, u64::MAX] {
            assert_eq!(allocated(address, 1), None, "{address}");
        }
    }
}
