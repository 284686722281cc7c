//! The locks of the ports, in device memory: a bit for each.

use revoff_device::arch;
use revoff_device::shared_abi::words::DeviceWords;

/// The locks of all ports.
#[derive(Clone, Copy)]
pub(super) struct Locks(arch::DeviceMemory);

impl Locks {
    /// Locks in this memory, a word for 32 ports.
    #[inline(always)]
    pub(super) fn new(memory: arch::DeviceMemory) -> Self {
        Self(memory)
    }

    /// Takes the lock of a port in all of `lanes`; returns whether they have it.
    ///
    /// # Safety
    /// Exactly the lanes of `lanes` call this together.
    #[inline(always)]
    pub(super) unsafe fn try_lock(self, lanes: u64, port: u32) -> bool {
        let bit = 1 << (port % 32);
        // Each lane sets the bit, and one of all lanes of the device finds it unset. The acquire
        // pairs with the release of `unlock`: the flags are those that the last holder left.
        let before = self.0.fetch_or_acquire(word(port), bit);
        // SAFETY: the caller's promise.
        unsafe { arch::any(lanes, before & bit == 0) }
    }

    /// Releases the lock of a port.
    ///
    /// # Safety
    /// As for [`try_lock`](Self::try_lock).
    #[inline(always)]
    pub(super) unsafe fn unlock(self, lanes: u64, port: u32) {
        // The first lane alone clears the bit: another would clear it for the next holder. All
        // execute the instruction, as the protocol's own code does.
        let bit = u32::from(is_first(lanes)) << (port % 32);
        self.0.fetch_and_release(word(port), !bit);
        // SAFETY: the caller's promise.
        unsafe { arch::converge(lanes) };
    }
}

/// The offset of the word with the lock of a port.
#[inline(always)]
fn word(port: u32) -> usize {
    4 * (port / 32) as usize
}

/// Whether the calling lane is the first of `lanes`.
#[inline(always)]
pub(super) fn is_first(lanes: u64) -> bool {
    lanes.trailing_zeros() == arch::lane()
}
