//! Device memory that data of calls is staged in, instead of host memory.

use std::sync::Arc;

use crate::device::{Device, DeviceAddr, DeviceError, Fill, MemoryKind};
use crate::map::{Budget, BudgetShare};

/// Memory of a device, for data that a library of the host, such as MPI, accesses there by itself.
///
/// It counts against the memory that the calls of its runtime may hold (`REVOFF_REQUEST_MEMORY`). Dropping it frees
/// it: if a library may still use it, leak it.
pub struct StagingBuffer {
    device: Arc<dyn Device>,
    address: DeviceAddr,
    /// Its address for a library.
    place: *mut u8,
    bytes: usize,
    _share: BudgetShare,
}

// SAFETY: it owns its memory, at an address that is valid on all threads.
unsafe impl Send for StagingBuffer {}
// SAFETY: a shared reference gives the address alone, and copies from the memory; writers of that need the exclusive
// use that their own `unsafe` code vouches for.
unsafe impl Sync for StagingBuffer {}

impl std::fmt::Debug for StagingBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StagingBuffer({} bytes at {})", self.bytes, self.address)
    }
}

impl StagingBuffer {
    /// `bytes` bytes, more than none; `None` if the device or the budget has no room for them, or if they have no
    /// address for a library.
    pub(super) fn new(
        device: &Arc<dyn Device>,
        budget: &Arc<Budget>,
        bytes: usize,
    ) -> Option<Self> {
        let share = budget.share(bytes as u64)?;
        let address = device.alloc(bytes as u64, Fill::Any).ok()?;
        let mut this = Self {
            device: Arc::clone(device),
            address,
            place: std::ptr::null_mut(),
            bytes,
            _share: share,
        };
        match device.memory_kind() {
            MemoryKind::Cuda | MemoryKind::Rocm => this.place = address.0 as *mut u8,
            MemoryKind::Host | MemoryKind::Emulated => {
                let mut at = |place| {
                    this.place = place;
                    0
                };
                if !device.in_place(address, bytes, false, &mut at) {
                    return None;
                }
            }
        }
        Some(this)
    }

    /// Its address for libraries of the host that access memory of this [kind](Self::memory_kind): for
    /// [`Emulated`](MemoryKind::Emulated), one of the host's. Valid until this is dropped, for [`len`](Self::len)
    /// bytes, which need not have values yet.
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.place
    }

    /// The number of bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The kind of its memory.
    #[must_use]
    pub fn memory_kind(&self) -> MemoryKind {
        self.device.memory_kind()
    }

    /// Copies its first bytes to the host. Nothing writes them meanwhile.
    ///
    /// # Errors
    /// The copy fails.
    ///
    /// # Panics
    /// It has fewer bytes.
    pub fn read(&self, to: &mut [u8]) -> Result<(), DeviceError> {
        assert!(to.len() <= self.bytes, "a staging buffer has fewer bytes");
        if to.is_empty() {
            return Ok(());
        }
        let mut queue = self.device.queue()?;
        // SAFETY: `to` is borrowed exclusively until the copy has been waited for.
        let copied = unsafe { queue.copy_from_device(to.as_mut_ptr(), self.address, to.len()) };
        let finished = queue.synchronize();
        copied.and(finished)
    }

    pub(super) fn address(&self) -> DeviceAddr {
        self.address
    }

    /// Whether it is memory of `device`.
    pub(super) fn is_on(&self, device: &Arc<dyn Device>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}
