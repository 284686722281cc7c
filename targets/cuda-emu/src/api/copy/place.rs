//! The memory that copies name.

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use device_arena::bytes::{copy_from_shared, copy_to_shared};

use crate::code::{Answer, Code};
use crate::driver::{peer_pinned, pinned, registered};
use crate::state::Context;
use crate::state::gpu::Gpu;
use crate::state::memory::{Pinned, Registered};

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
    /// The host's memory that is mapped, which the caller keeps while it is.
    Registered(Weak<Registered>, u64),
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
        // Most other addresses are mapped nowhere.
        let memory = context.gpu.machine.memory();
        memory
            .registered_range(address, len as u64)
            .ok_or(Code::INVALID_VALUE)?;
        if let Some(pinned) = peer_pinned(&context.gpu, address, len as u64) {
            return Ok(range(Memory::Pinned(Arc::downgrade(&pinned), address)));
        }
        let registered =
            registered(&context.gpu, address, len as u64).ok_or(Code::INVALID_VALUE)?;
        let memory = Memory::Registered(Arc::downgrade(&registered), address);
        Ok(range(memory))
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
    /// It was freed or unmapped.
    pub(crate) fn resolve(&self) -> Answer<Place<'_>> {
        let gpu = &*self.gpu;
        let place = |at, address, is_shared, held| Place {
            gpu,
            at,
            address,
            is_shared,
            _held: held,
        };
        let at_host = |address| std::ptr::with_exposed_provenance_mut(address as usize);
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
            Memory::Registered(registered, address) => {
                let held = registered.upgrade().ok_or(Code::ILLEGAL_ADDRESS)?;
                Ok(place(at_host(*address), *address, true, Some(held)))
            }
            Memory::Host(address) => Ok(place(at_host(*address), *address, false, None)),
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
    /// Keeps the memory.
    _held: Option<Arc<dyn Any + Send + Sync>>,
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
