//! Addresses and what is behind them.
//!
//! Generic addresses say by their upper bits which space they are of, so that none of
//! them is an address of the host, and a pointer of the wrong side faults on either.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use device_arena::{ALIGN, Arena};

use crate::check::Checker;

/// Where windows begin: shared and local memory, a kernel's parameters, functions, and
/// global memory, the device's own and what is mapped for the host.
pub(crate) const SHARED: u64 = 0x0100_0000_0000_0000;
pub(crate) const LOCAL: u64 = 0x0200_0000_0000_0000;
pub(crate) const PARAM: u64 = 0x0300_0000_0000_0000;
pub(crate) const CODE: u64 = 0x0400_0000_0000_0000;
const DEVICE: u64 = 0x1000_0000_0000_0000;
const MAPPED: u64 = 0x2000_0000_0000_0000;

/// Size of the windows of shared and local memory and of parameters.
pub(crate) const WINDOW: u64 = 1 << 32;

/// Whether a generic address is in global memory, allocated or not.
pub(crate) const fn is_global(address: u64) -> bool {
    matches!(address >> 60, 1 | 2)
}

/// Whether it is in memory that the host sees, too.
pub(crate) const fn is_mapped(address: u64) -> bool {
    address >> 60 == 2
}

const FREE: u8 = 0;
const USED: u8 = 1;
const READ_ONLY: u8 = 2;

/// A part of global memory, and what of it may be used: in steps of [`ALIGN`] bytes.
#[derive(Debug)]
struct Region {
    arena: Arena,
    state: Box<[AtomicU8]>,
}

impl Region {
    fn new(bytes: u64, window: u64) -> io::Result<Self> {
        let arena = Arena::new(bytes, Some(window))?;
        let steps = arena.bytes().div_ceil(ALIGN) as usize;
        // Zeroed pages of the system: none is touched yet.
        // SAFETY: zero bytes are `AtomicU8`s, and the layout is that of the array.
        let state = unsafe { Box::<[AtomicU8]>::new_zeroed_slice(steps).assume_init() };
        Ok(Self { arena, state })
    }

    fn mark(&self, address: u64, bytes: u64, state: u8) {
        let first = (address - self.arena.window()) / ALIGN;
        let steps = bytes.max(1).div_ceil(ALIGN);
        for step in &self.state[first as usize..(first + steps) as usize] {
            // Ordered by whatever tells the device of the address.
            step.store(state, Ordering::Relaxed);
        }
    }

    fn alloc(&self, bytes: u64) -> Option<u64> {
        let address = self.arena.alloc(bytes)?;
        self.mark(address, bytes, USED);
        Some(address)
    }

    fn free(&self, address: u64, bytes: u64) {
        self.mark(address, bytes, FREE);
        self.arena.free(address);
    }

    fn reach(&self, address: u64, bytes: u64, write: bool) -> Option<NonNull<u8>> {
        let host = NonNull::new(self.arena.host(address)?)?;
        let first = (address - self.arena.window()) / ALIGN;
        let last = (address - self.arena.window() + bytes - 1) / ALIGN;
        for step in first..=last {
            match self.state.get(step as usize)?.load(Ordering::Relaxed) {
                USED => {}
                READ_ONLY if !write => {}
                _ => return None,
            }
        }
        Some(host)
    }
}

/// Global memory.
#[derive(Debug)]
pub struct Memory {
    device: Region,
    mapped: Region,
    /// Is told what is mapped and what is freed.
    checker: OnceLock<Arc<Checker>>,
}

impl Memory {
    /// Reserves `bytes` of device memory, and as much for mapped memory.
    ///
    /// # Errors
    /// The system does not give that much.
    pub fn new(bytes: u64) -> io::Result<Self> {
        Ok(Self {
            device: Region::new(bytes, DEVICE)?,
            mapped: Region::new(bytes, MAPPED)?,
            checker: OnceLock::new(),
        })
    }

    /// Has a checker follow what is allocated from now on.
    pub(crate) fn check_with(&self, checker: &Arc<Checker>) {
        self.checker.get_or_init(|| Arc::clone(checker));
    }

    /// Device memory in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.device.arena.bytes()
    }

    /// Device memory that is allocated, in bytes.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.device.arena.used()
    }

    /// Allocates zeroed device memory, aligned to 256 bytes; its address, or `None` if
    /// there is no room.
    pub fn alloc(&self, bytes: u64) -> Option<u64> {
        self.device.alloc(bytes)
    }

    /// The same for memory that the device can only read; the host writes it first.
    pub(crate) fn alloc_constant(&self, bytes: u64) -> Option<u64> {
        let address = self.alloc(bytes)?;
        self.device.mark(address, bytes, READ_ONLY);
        Some(address)
    }

    /// Allocates zeroed memory that the host sees, too: where it does, and where the
    /// device does.
    pub fn alloc_mapped(&self, bytes: u64) -> Option<(NonNull<u8>, u64)> {
        let address = self.mapped.alloc(bytes)?;
        let host = NonNull::new(self.mapped.arena.host(address)?)?;
        if let Some(checker) = self.checker.get() {
            checker.map(address, bytes, host);
        }
        Some((host, address))
    }

    /// Frees what either returned. Other addresses are ignored.
    pub fn free(&self, address: u64) {
        let region = if is_mapped(address) {
            &self.mapped
        } else {
            &self.device
        };
        if let Some(bytes) = region.arena.block(address) {
            if let Some(checker) = self.checker.get() {
                checker.forget(address, bytes);
            }
            region.free(address, bytes);
        }
    }

    /// Where the host finds device memory that is allocated from end to end, in one
    /// block; mapped memory is none.
    #[must_use]
    pub fn host(&self, address: u64, bytes: u64) -> Option<NonNull<u8>> {
        if self.device.arena.contains(address, bytes) != Some(true) {
            return None;
        }
        NonNull::new(self.device.arena.host(address)?)
    }

    /// Where an access of the device goes; `None` if it may not.
    pub(crate) fn reach(&self, address: u64, bytes: u64, write: bool) -> Option<NonNull<u8>> {
        if is_mapped(address) {
            self.mapped.reach(address, bytes, write)
        } else {
            self.device.reach(address, bytes, write)
        }
    }
}
