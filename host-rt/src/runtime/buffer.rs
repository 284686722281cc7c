//! Device memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{Inner, Runtime};
use crate::error::{DeviceError, Result};

/// Device memory, freed when dropped.
pub struct DeviceBuffer {
    pub(super) inner: Arc<Inner>,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

impl DeviceBuffer {
    /// Its device address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies `data` to byte offset `at`.
    ///
    /// # Errors
    /// It does not fit.
    pub fn write<T: IntoBytes + Immutable>(&self, at: u64, data: &[T]) -> Result<()> {
        let bytes = data.as_bytes();
        let address = self.range(at, bytes.len() as u64)?;
        let mut queue = self.inner.device.queue()?;
        // SAFETY: `bytes` lives until `synchronize` returns.
        unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
        Ok(queue.synchronize()?)
    }

    /// Copies from byte offset `at` to `data`.
    ///
    /// # Errors
    /// There are not that many bytes.
    pub fn read<T: IntoBytes + FromBytes>(&self, at: u64, data: &mut [T]) -> Result<()> {
        let bytes = data.as_mut_bytes();
        let address = self.range(at, bytes.len() as u64)?;
        let mut queue = self.inner.device.queue()?;
        // SAFETY: `bytes` lives, borrowed by us alone, until `synchronize` returns.
        unsafe { queue.copy_from_device(bytes.as_mut_ptr(), address, bytes.len())? };
        Ok(queue.synchronize()?)
    }

    /// The runtime whose device it is on.
    pub(crate) fn runtime(&self) -> Runtime {
        Runtime {
            inner: Arc::clone(&self.inner),
        }
    }

    /// The address of `len` bytes at offset `at`.
    pub(crate) fn range(&self, at: u64, len: u64) -> Result<u64, DeviceError> {
        match at.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(self.address + at),
            _ => Err(DeviceError::Unreachable {
                address: self.address.wrapping_add(at),
                len,
                what: "past the end of its buffer",
            }),
        }
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // Relaxed: whoever gave up on a kernel knows it, and drops this later.
        if !self.inner.abandoned.load(Ordering::Relaxed) {
            self.inner.device.free(self.address);
        }
    }
}
