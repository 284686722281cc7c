//! The memory that copies name.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use device_arena::bytes::{copy_from_shared, copy_to_shared};

use crate::code::{Answer, Code};
use crate::driver::pinned;
use crate::state::Context;
use crate::state::gpu::Gpu;
use crate::state::memory::Pinned;

/// A range of memory, as a GPU reaches it. It may be freed before it is used.
pub(crate) struct Range {
    gpu: Arc<Gpu>,
    memory: Memory,
}

/// The memory of a range.
enum Memory {
    /// Device memory.
    Device(u64, usize),
    /// Pinned memory.
    Pinned(Weak<Pinned>, u64),
    /// The host's memory that is mapped, which the caller keeps.
    Registered(u64),
    /// The host's ordinary memory, which the caller keeps.
    Host(u64),
}

impl Range {
    /// A range that kernels can reach.
    ///
    /// # Errors
    /// It is not in one piece of such memory.
    pub(crate) fn of_device(context: &Context, address: u64, len: usize) -> Answer<Self> {
        let range = |memory| Self {
            gpu: Arc::clone(&context.gpu),
            memory,
        };
        if context.device_memory(address, len as u64).is_some() {
            return Ok(range(Memory::Device(address, len)));
        }
        if let Some(pinned) = pinned(context, address, len as u64) {
            return Ok(range(Memory::Pinned(Arc::downgrade(&pinned), address)));
        }
        let memory = context.gpu.machine.memory();
        let registered = memory.registered_range(address, len as u64);
        registered
            .map(|_| range(Memory::Registered(address)))
            .ok_or(Code::INVALID_VALUE)
    }

    /// A range at a pointer of either side, and whether it is the host's ordinary memory.
    ///
    /// # Errors
    /// The pointer is the device's, but not of one piece of memory.
    pub(crate) fn of_either(context: &Context, address: u64, len: usize) -> Answer<(Self, bool)> {
        match Self::of_device(context, address, len) {
            Ok(range) => Ok((range, false)),
            // Device memory has addresses that the host cannot have.
            Err(code) if address == 0 || address >> 56 != 0 => Err(code),
            Err(_) => {
                let gpu = Arc::clone(&context.gpu);
                let memory = Memory::Host(address);
                Ok((Self { gpu, memory }, true))
            }
        }
    }

    /// Where it is now.
    ///
    /// # Errors
    /// It was freed.
    pub(crate) fn resolve(&self) -> Answer<Place<'_>> {
        let gpu = &*self.gpu;
        let place = |at, address, is_shared, held| Place {
            gpu,
            at,
            address,
            is_shared,
            _held: held,
        };
        match &self.memory {
            Memory::Device(address, len) => {
                let host = gpu.machine.memory().host(*address, *len as u64);
                let host = host.ok_or(Code::ILLEGAL_ADDRESS)?;
                Ok(place(host.as_ptr(), *address, true, None))
            }
            Memory::Pinned(pinned, address) => {
                let held = pinned.upgrade().ok_or(Code::ILLEGAL_ADDRESS)?;
                let offset = address - held.address;
                let at = held.host.as_ptr().wrapping_add(offset as usize);
                Ok(place(at, *address, true, Some(held)))
            }
            Memory::Registered(address) | Memory::Host(address) => {
                let at = std::ptr::with_exposed_provenance_mut(*address as usize);
                let is_shared = matches!(self.memory, Memory::Registered(_));
                Ok(place(at, *address, is_shared, None))
            }
        }
    }
}

/// Where a range is.
pub(crate) struct Place<'a> {
    gpu: &'a Gpu,
    at: *mut u8,
    address: u64,
    /// Whether kernels may use it at the same time.
    is_shared: bool,
    _held: Option<Arc<Pinned>>,
}

impl Place<'_> {
    /// Copies bytes from it.
    ///
    /// # Safety
    /// There are `len` bytes from `offset` on, and at `to`.
    pub(crate) unsafe fn read(&self, offset: usize, to: *mut u8, len: usize) {
        let from = self.at.wrapping_add(offset);
        if self.is_shared {
            // SAFETY: the caller's promise; blocks of device memory and of pinned memory begin at
            // multiples of 256 bytes, and kernels access them atomically.
            unsafe { copy_from_shared(to, from, len) };
            self.gpu
                .machine
                .host_read(self.address + offset as u64, len as u64);
        } else {
            // SAFETY: the caller's promise.
            unsafe { to.copy_from(from, len) };
        }
    }

    /// Copies bytes to it.
    ///
    /// # Safety
    /// There are `len` bytes from `offset` on, and at `from`.
    pub(crate) unsafe fn write(&self, offset: usize, from: *const u8, len: usize) {
        let to = self.at.wrapping_add(offset);
        if self.is_shared {
            let address = self.address + offset as u64;
            if len == 4 && address.is_multiple_of(4) {
                let mut word = [0; 4];
                // SAFETY: the caller's promise.
                unsafe { word.as_mut_ptr().copy_from_nonoverlapping(from, 4) };
                // SAFETY: the caller's promise; blocks are aligned to more, and kernels access them
                // atomically.
                let place = unsafe { AtomicU32::from_ptr(to.cast()) };
                // Release: a device thread that waits for the word sees earlier copies.
                place.store(u32::from_ne_bytes(word), Ordering::Release);
            } else {
                // SAFETY: the caller's promise; blocks of device memory and of pinned memory begin at
                // multiples of 256 bytes, and kernels access them atomically.
                unsafe { copy_to_shared(to, from, len) };
            }
            self.gpu.machine.host_wrote(address, len as u64);
        } else {
            // SAFETY: the caller's promise.
            unsafe { to.copy_from(from, len) };
        }
    }
}
