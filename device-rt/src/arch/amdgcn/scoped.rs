//! The accesses of `scoped.ll`.

use shared_abi::words::{DeviceWords, Load, Store};

unsafe extern "C" {
    fn revoff_agent_load(at: u64) -> u32;
    fn revoff_agent_load_acquire(at: u64) -> u32;
    fn revoff_agent_store(at: u64, value: u32);
    fn revoff_agent_store_release(at: u64, value: u32);
    fn revoff_agent_or_acquire(at: u64, mask: u32) -> u32;
    fn revoff_agent_and_release(at: u64, mask: u32) -> u32;
    fn revoff_join_load(value: u64, other: u64) -> u64;
    #[cfg(revoff_stores_without_scope)]
    fn revoff_store_pair(at: u64, first: u64, second: u64);
}

/// Device memory, at device scope.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory {
    base: u64,
}

/// The device memory at a device address.
///
/// # Safety
/// As for [`shared_abi::words::Coherent::new`]. The memory is coarse-grained and the device's own.
#[inline(always)]
#[must_use]
pub unsafe fn device_memory(address: u64) -> DeviceMemory {
    DeviceMemory { base: address }
}

// The caller of `device_memory` vouches for each offset, so that every access below is to a valid and
// aligned address.

impl DeviceWords for DeviceMemory {
    #[inline(always)]
    fn load32(&self, at: usize, order: Load) -> u32 {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe {
            match order {
                Load::Relaxed => revoff_agent_load(self.base + at as u64),
                Load::Acquire => revoff_agent_load_acquire(self.base + at as u64),
            }
        }
    }

    #[inline(always)]
    fn store32(&self, at: usize, value: u32, order: Store) {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe {
            match order {
                Store::Relaxed => revoff_agent_store(self.base + at as u64, value),
                Store::Release => revoff_agent_store_release(self.base + at as u64, value),
            }
        }
    }

    #[inline(always)]
    fn fetch_or_acquire(&self, at: usize, mask: u32) -> u32 {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe { revoff_agent_or_acquire(self.base + at as u64, mask) }
    }

    #[inline(always)]
    fn fetch_and_release(&self, at: usize, mask: u32) -> u32 {
        // SAFETY: `device_memory`'s caller vouches for `at`.
        unsafe { revoff_agent_and_release(self.base + at as u64, mask) }
    }
}

/// The values of two loads, neither of which is used before both have arrived.
#[inline(always)]
pub(super) fn join_loads([first, second]: [u64; 2]) -> [u64; 2] {
    // SAFETY: the function returns its first argument, and does nothing else.
    unsafe {
        let first = revoff_join_load(first, second);
        [first, revoff_join_load(second, first)]
    }
}

/// Stores 16 bytes without order, at system scope: processors with `revoff_stores_without_scope`
/// have one kind of store for all scopes.
///
/// # Safety
/// `at` is valid, global and a multiple of 16.
#[cfg(revoff_stores_without_scope)]
#[inline(always)]
pub(super) unsafe fn store_pair(at: u64, [first, second]: [u64; 2]) {
    // SAFETY: the caller's promise.
    unsafe { revoff_store_pair(at, first, second) };
}
