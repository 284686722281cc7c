//! Device memory.

use std::fmt;
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{Inner, Result, Runtime};
use crate::device::{DeviceAddr, DeviceError};

/// Device memory, freed when dropped.
pub struct DeviceBuffer {
    pub(super) inner: Arc<Inner>,
    /// Its number among the runtime's allocations.
    pub(super) number: u64,
    pub(super) address: DeviceAddr,
    pub(super) bytes: u64,
}

impl DeviceBuffer {
    /// Its device address.
    #[must_use]
    pub fn address(&self) -> DeviceAddr {
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
    /// `data` does not fit in the buffer at `at`, or the copy failed.
    pub fn write<T: IntoBytes + Immutable>(&self, at: u64, data: &[T]) -> Result<()> {
        let bytes = data.as_bytes();
        let address = self.range(at, bytes.len() as u64)?;
        let mut queue = self.inner.device.queue()?;
        // SAFETY: `bytes` is borrowed until `synchronize` returns, and `range` has checked the
        // device addresses.
        unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
        Ok(queue.synchronize()?)
    }

    /// Copies from byte offset `at` to `data`.
    ///
    /// # Errors
    /// The buffer has fewer bytes after `at`, or the copy failed.
    pub fn read<T: IntoBytes + FromBytes>(&self, at: u64, data: &mut [T]) -> Result<()> {
        let bytes = data.as_mut_bytes();
        let address = self.range(at, bytes.len() as u64)?;
        let mut queue = self.inner.device.queue()?;
        // SAFETY: `bytes` is borrowed exclusively until `synchronize` returns, and `range` has
        // checked the device addresses.
        unsafe { queue.copy_from_device(bytes.as_mut_ptr(), address, bytes.len())? };
        Ok(queue.synchronize()?)
    }

    /// The runtime on whose device the memory is.
    pub(crate) fn runtime(&self) -> Runtime {
        Runtime {
            inner: Arc::clone(&self.inner),
        }
    }

    /// The device address of offset `at`, after checking that `len` bytes follow it.
    pub(crate) fn range(&self, at: u64, len: u64) -> Result<DeviceAddr, DeviceError> {
        match at.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(self.address + at),
            _ => Err(DeviceError::OutOfBuffer {
                at,
                len,
                bytes: self.bytes,
            }),
        }
    }
}

impl fmt::Debug for DeviceBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} bytes at {})", self.bytes, self.address)
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if !self.inner.overdue.may_use(self.number) {
            self.inner.device.free(self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::runtime::Runtime;

    #[test]
    fn copies_stay_inside() {
        let runtime = Runtime::open("host").unwrap();
        let buffer = runtime.alloc(16).unwrap();
        buffer.write(8, &[1u64]).unwrap();
        let mut read = [0u64; 2];
        buffer.read(0, &mut read).unwrap();
        assert_eq!(read, [0, 1]);
        for at in [9, 16, 17, u64::MAX, u64::MAX - 7] {
            for text in [
                buffer.write(at, &[1u64]).unwrap_err().to_string(),
                buffer.read(at, &mut [0u64]).unwrap_err().to_string(),
            ] {
                let expected = format!("cannot copy 8 bytes at byte {at}: the buffer has 16 bytes");
                assert!(text.contains(&expected), "{text}");
            }
        }
    }
}
