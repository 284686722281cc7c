//! Device memory that data of calls is staged in, instead of host memory.

use std::sync::Arc;

use crate::device::{Device, DeviceAddr, DeviceError, Event, Fill, MemoryKind};
use crate::map::{Budget, BudgetShare};

/// The size of a buffer is rounded up to a multiple of these bytes where it is counted: no device's allocations are
/// coarser for small buffers.
const GRANULE: u64 = 4096;

/// Memory of a device, for data that a library of the host, such as MPI, accesses there by itself.
///
/// It counts against the memory that the calls of its runtime may hold (`REVOFF_REQUEST_MEMORY`), in multiples of
/// 4 KiB. Dropping it frees it, once started copies from or to it are made: if a library may still use it, leak it.
pub struct StagingBuffer {
    device: Arc<dyn Device>,
    address: DeviceAddr,
    host_ptr: *mut u8,
    bytes: usize,
    /// The end of the last copy from or to it.
    copy: Option<Arc<dyn Event>>,
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
        let share = budget.share((bytes as u64).checked_next_multiple_of(GRANULE)?)?;
        let address = device.alloc(bytes as u64, Fill::Any).ok()?;
        let mut this = Self {
            device: Arc::clone(device),
            address,
            host_ptr: std::ptr::null_mut(),
            bytes,
            copy: None,
            _share: share,
        };
        match device.memory_kind() {
            MemoryKind::Cuda | MemoryKind::Rocm => this.host_ptr = address.0 as *mut u8,
            MemoryKind::Host | MemoryKind::Emulated => {
                let mut keep = |host_ptr| {
                    this.host_ptr = host_ptr;
                    0
                };
                if !device.in_place(address, bytes, false, &mut keep) {
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
        self.host_ptr
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

    /// Records a copy from or to it, for its drop.
    pub(super) fn copies(&mut self, event: &Arc<dyn Event>) {
        self.copy = Some(Arc::clone(event));
    }

    /// Whether it is memory of `device`.
    pub(super) fn is_on(&self, device: &Arc<dyn Device>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            // The copy is made, unless the call was dropped early.
            let _ = copy.sync();
        }
        self.device.free(self.address);
    }
}
