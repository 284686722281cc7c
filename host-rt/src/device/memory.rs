//! Memory of devices.

use std::ptr::NonNull;

pub use device_arena::Fill;

use crate::base::addr::DeviceAddr;
use crate::base::ranges::AddrRange;

/// The size and use of device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The total.
    pub total: u64,
    /// The allocated part.
    pub used: u64,
}

/// Kinds of device memory, for libraries of the host that access it by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// The host's own.
    Host,
    /// An emulated GPU's: memory of this process, at other addresses than on the device.
    Emulated,
    /// An NVIDIA GPU's, at addresses of CUDA.
    Cuda,
    /// An AMD GPU's, at addresses of ROCr.
    Rocm,
}

/// Mapped memory: the host and the device see the same bytes.
///
/// Zeroed when allocated, aligned to 128 bytes, freed with the last owner.
pub struct MappedMemory {
    /// Its address on the host.
    pub host: NonNull<u8>,
    /// Its address on the device.
    pub device: DeviceAddr,
    /// Its size.
    pub bytes: usize,
    /// Frees it; taken by the drop.
    free: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl std::fmt::Debug for MappedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MappedMemory({} bytes at {:?})", self.bytes, self.host)
    }
}

// SAFETY: it is an allocation, which any thread may access with the care that memory shared with a
// device requires.
unsafe impl Send for MappedMemory {}
// SAFETY: it is an allocation, which any thread may access with the care that memory shared with a
// device requires.
unsafe impl Sync for MappedMemory {}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            free();
        }
    }
}

impl MappedMemory {
    /// An allocation, which `free` frees.
    pub(super) fn new(
        host: NonNull<u8>,
        device: DeviceAddr,
        bytes: usize,
        free: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            host,
            device,
            bytes,
            free: Some(Box::new(free)),
        }
    }

    /// Whether the device range lies in here.
    #[must_use]
    pub fn contains(&self, address: DeviceAddr, len: u64) -> bool {
        AddrRange::new(self.device, self.bytes).is_some_and(|memory| memory.has(address, len))
    }
}
