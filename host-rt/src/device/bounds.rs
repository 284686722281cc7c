//! Errors for addresses that copies cannot reach.

use super::DeviceError;

/// A range that begins in device memory but leaves its allocation.
pub(super) const NOT_ALLOCATED: &str = "device memory that is not (all) allocated";

/// A range that is not device memory of a GPU.
pub(super) const BEYOND: &str = "no device memory that a copy reaches: a device thread's stack, \
                                 memory that a kernel allocated, or a host address";

pub(super) fn unreachable(address: u64, len: u64, what: &'static str) -> DeviceError {
    DeviceError::Unreachable { address, len, what }
}

/// Rejects misaligned addresses.
pub(super) fn check_word(address: u64) -> Result<(), DeviceError> {
    if address.is_multiple_of(4) {
        Ok(())
    } else {
        Err(unreachable(address, 4, "not aligned for a word"))
    }
}
