//! Mapped and device memory, by the instructions of the architecture.

use core::arch::asm;

use shared_abi::words::{DeviceWords, Load, Store, SystemWords, TicketWord};

use super::instructions;

/// Mapped memory, at system scope.
#[derive(Clone, Copy, Debug)]
pub struct Mapped {
    base: u64,
}

/// Device memory, at device scope.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory {
    base: u64,
}

/// The mapped memory at a device address.
///
/// # Safety
/// As for [`shared_abi::words::Coherent::new`].
#[inline(always)]
#[must_use]
pub unsafe fn mapped(address: u64) -> Mapped {
    Mapped {
        base: to_global(address),
    }
}

/// The device memory at a device address.
///
/// # Safety
/// As for [`shared_abi::words::Coherent::new`].
#[inline(always)]
#[must_use]
pub unsafe fn device_memory(address: u64) -> DeviceMemory {
    DeviceMemory {
        base: to_global(address),
    }
}

/// The `.global` address of memory that the host allocated.
#[inline(always)]
fn to_global(address: u64) -> u64 {
    let global;
    // SAFETY: arithmetic on an address.
    unsafe {
        asm!(
            "cvta.to.global.u64 {}, {};",
            out(reg64) global, in(reg64) address, options(pure, nomem, nostack)
        );
    }
    global
}

// The callers of `mapped` and `device_memory` vouch for each offset, so that every access below is
// to a valid, aligned and global address.

impl SystemWords for Mapped {
    #[inline(always)]
    fn at_offset(&self, at: usize) -> Self {
        Self {
            base: self.base + at as u64,
        }
    }

    #[inline(always)]
    fn load32(&self, at: usize, order: Load) -> u32 {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::system_load32(self.base + at as u64, order) }
    }

    #[inline(always)]
    fn store32(&self, at: usize, value: u32, order: Store) {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::system_store32(self.base + at as u64, value, order) }
    }

    #[inline(always)]
    fn load64(&self, at: usize, order: Load) -> u64 {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::system_load64(self.base + at as u64, order) }
    }

    #[inline(always)]
    fn store64(&self, at: usize, value: u64, order: Store) {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::system_store64(self.base + at as u64, value, order) }
    }

    #[inline(always)]
    fn load_pair(&self, at: usize) -> [u64; 2] {
        // SAFETY: `mapped`'s caller vouches for `at`, and ours for its alignment.
        unsafe { instructions::system_load_pair(self.base + at as u64) }
    }

    #[inline(always)]
    fn store_pair(&self, at: usize, pair: [u64; 2]) {
        // SAFETY: `mapped`'s caller vouches for `at`, and ours for its alignment.
        unsafe { instructions::system_store_pair(self.base + at as u64, pair) }
    }

    #[inline(always)]
    fn fence(&self) {
        instructions::system_fence_sc();
    }

    #[inline(always)]
    fn release_fence(&self) {
        instructions::system_fence_acq_rel();
    }

    #[inline(always)]
    fn acquire_fence(&self) {
        instructions::system_fence_acq_rel();
    }

    #[inline(always)]
    fn load8(&self, at: usize) -> u8 {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::system_load8(self.base + at as u64) }
    }

    #[inline(always)]
    fn store8(&self, at: usize, value: u8) {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::system_store8(self.base + at as u64, value) }
    }
}

impl TicketWord for Mapped {
    #[inline(always)]
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32 {
        // SAFETY: `mapped`'s caller vouches for `at`.
        unsafe { instructions::device_add_relaxed(self.base + at as u64, n) }
    }
}

impl DeviceWords for DeviceMemory {
    #[inline(always)]
    fn load32(&self, at: usize, order: Load) -> u32 {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe { instructions::device_load32(self.base + at as u64, order) }
    }

    #[inline(always)]
    fn store32(&self, at: usize, value: u32, order: Store) {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe { instructions::device_store32(self.base + at as u64, value, order) }
    }

    #[inline(always)]
    fn fetch_or_acquire(&self, at: usize, mask: u32) -> u32 {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe { instructions::device_or_acquire(self.base + at as u64, mask) }
    }

    #[inline(always)]
    fn fetch_and_release(&self, at: usize, mask: u32) -> u32 {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe { instructions::device_and_release(self.base + at as u64, mask) }
    }
}
