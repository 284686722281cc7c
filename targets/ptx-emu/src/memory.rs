//! Address spaces and global memory.
//!
//! The upper bits of a generic address are its space. Mapped memory has the host's addresses, as with
//! unified addressing on hardware; all others are never addresses of the host, and a pointer of the
//! wrong side faults on either.

use std::collections::{BTreeMap, HashSet};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::{fmt, io};

use device_arena::{AccessKind, CheckedArena, Fill, Neighbour};

/// The begins of windows: shared and local memory, a kernel's parameters, functions, and global
/// memory of the device's own.
pub(crate) const SHARED: u64 = 0x0100_0000_0000_0000;
pub(crate) const LOCAL: u64 = 0x0200_0000_0000_0000;
pub(crate) const PARAM: u64 = 0x0300_0000_0000_0000;
pub(crate) const CODE: u64 = 0x0400_0000_0000_0000;
const DEVICE: u64 = 0x1000_0000_0000_0000;

/// Size of the window of one device's memory, more than an emulated GPU has, and the number of windows.
const DEVICE_WINDOW: u64 = 1 << 44;
const DEVICE_WINDOWS: u64 = DEVICE / DEVICE_WINDOW;

/// Size of the windows of shared and local memory and of parameters. Offsets in one are smaller than
/// any address of mapped memory.
pub(crate) const WINDOW: u64 = 1 << 32;

/// Whether a generic address is in global memory, allocated or not.
pub(crate) const fn is_global(address: u64) -> bool {
    address >> 60 == 1 || is_mapped(address)
}

/// Whether it is in mapped memory, which the host accesses too: whether it is one of the host's.
pub(crate) const fn is_mapped(address: u64) -> bool {
    address >= WINDOW && address >> 56 == 0
}

/// A change of a block of global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// It is mapped, at `host` for the host.
    Mapped {
        address: u64,
        bytes: u64,
        host: NonNull<u8>,
    },
    /// It is about to be freed.
    Freed { address: u64, bytes: u64 },
}

type Observer = Box<dyn Fn(Change) + Send + Sync>;

/// Global memory.
pub struct Memory {
    device: CheckedArena,
    mapped: CheckedArena,
    /// Memory of the host's own that is mapped: sizes by address.
    registered: RwLock<BTreeMap<u64, u64>>,
    /// Blocks that device code allocated.
    heap: Mutex<HashSet<u64>>,
    observer: OnceLock<Observer>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("device", &self.device)
            .field("mapped", &self.mapped)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// Reserves `bytes` of device memory, and as much for mapped memory. Its addresses are in no other
    /// memory of the process, since addressing is unified, until there have been 65536 of them.
    ///
    /// # Errors
    /// The system cannot reserve that much.
    pub fn new(bytes: u64) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: it makes numbers.
        let number = COUNT.fetch_add(1, Ordering::Relaxed) % DEVICE_WINDOWS;
        Ok(Self {
            device: CheckedArena::new(bytes, Some(DEVICE + number * DEVICE_WINDOW))?,
            mapped: CheckedArena::new(bytes, None)?,
            registered: RwLock::default(),
            heap: Mutex::default(),
            observer: OnceLock::new(),
        })
    }

    /// Calls `observer` on every change from now on; the first observer stays.
    pub(crate) fn observe(&self, observer: impl Fn(Change) + Send + Sync + 'static) {
        self.observer.get_or_init(|| Box::new(observer));
    }

    fn report(&self, change: Change) {
        if let Some(observer) = self.observer.get() {
            observer(change);
        }
    }

    /// Device memory in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.device.bytes()
    }

    /// Device memory that is allocated, in bytes.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.device.used()
    }

    /// Mapped memory that is allocated, in bytes, of as much as there is device memory.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.mapped.used()
    }

    /// Allocates zeroed device memory, aligned to 256 bytes. Returns its address, or `None` if there
    /// is no room.
    pub fn alloc(&self, bytes: u64) -> Option<u64> {
        self.device.alloc(bytes, Fill::Zeros)
    }

    /// The same for memory that the host writes and the device can only read.
    pub(crate) fn alloc_constant(&self, bytes: u64) -> Option<u64> {
        let address = self.alloc(bytes)?;
        self.device.make_read_only(address, bytes);
        Some(address)
    }

    /// Allocates zeroed mapped memory. Returns its host address and its device address.
    pub fn alloc_mapped(&self, bytes: u64) -> Option<(NonNull<u8>, u64)> {
        let address = self.mapped.alloc(bytes, Fill::Zeros)?;
        let host = NonNull::new(self.mapped.host(address)?)?;
        self.report(Change::Mapped {
            address,
            bytes,
            host,
        });
        Some((host, address))
    }

    /// Maps memory of the host, whose device address is its own. Returns whether it does not overlap
    /// other such memory.
    ///
    /// # Safety
    /// The memory stays valid until [`unregister`](Self::unregister), and is accessed meanwhile as device
    /// memory is: atomically, or ordered with the accesses of kernels.
    pub unsafe fn register(&self, host: NonNull<u8>, bytes: u64) -> bool {
        let address = host.as_ptr().expose_provenance() as u64;
        let mut registered = self
            .registered
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = registered
            .range(..address.saturating_add(bytes))
            .next_back();
        if !is_mapped(address) || before.is_some_and(|(start, size)| start + size > address) {
            return false;
        }
        registered.insert(address, bytes);
        drop(registered);
        self.report(Change::Mapped {
            address,
            bytes,
            host,
        });
        true
    }

    /// Unmaps memory of [`register`](Self::register) that begins there. Returns its size.
    pub fn unregister(&self, address: u64) -> Option<u64> {
        let mut registered = self
            .registered
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let bytes = registered.remove(&address)?;
        drop(registered);
        self.report(Change::Freed { address, bytes });
        Some(bytes)
    }

    /// The memory of the host that contains the range and is mapped: its begin and its size.
    #[must_use]
    pub fn registered_range(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        let registered = self
            .registered
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let (&start, &size) = registered.range(..=address).next_back()?;
        let end = (address - start).checked_add(bytes)?;
        (end <= size).then_some((start, size))
    }

    /// Frees a block of either kind. Ignores other addresses.
    pub fn free(&self, address: u64) {
        let region = if is_mapped(address) {
            &self.mapped
        } else {
            &self.device
        };
        region.free(address, |bytes| {
            self.report(Change::Freed { address, bytes });
        });
    }

    /// The size of the block of either kind that begins at an address.
    #[must_use]
    pub fn block(&self, address: u64) -> Option<u64> {
        let region = if is_mapped(address) {
            &self.mapped
        } else {
            &self.device
        };
        region.block(address)
    }

    /// The block at or near an address that may not be accessed.
    pub(crate) fn neighbour(&self, address: u64) -> Option<Neighbour> {
        Neighbour::find(&[&self.device, &self.mapped], address)
    }

    fn heap(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates for device code; 0 if there is no room.
    pub(crate) fn malloc(&self, bytes: u64) -> u64 {
        let address = self.alloc(bytes).unwrap_or(0);
        if address != 0 {
            self.heap().insert(address);
        }
        address
    }

    /// Frees a block of [`malloc`](Self::malloc). Returns whether it is one.
    pub(crate) fn free_of_heap(&self, address: u64) -> bool {
        let is_there = self.heap().remove(&address);
        if is_there {
            self.free(address);
        }
        is_there
    }

    /// The host address of a range of device memory inside one block; `None` for mapped memory.
    #[must_use]
    pub fn host(&self, address: u64, bytes: u64) -> Option<NonNull<u8>> {
        if self.device.contains(address, bytes) != Some(true) {
            return None;
        }
        NonNull::new(self.device.host(address)?)
    }

    /// Writes to a block of device memory from its begin, if it is large enough.
    pub(crate) fn write(&self, block: u64, bytes: &[u8]) {
        let Some(to) = self.host(block, bytes.len() as u64) else {
            return;
        };
        let (words, rest) = bytes.as_chunks();
        // The publication of the block orders these stores.
        for (at, &word) in words.iter().enumerate() {
            // SAFETY: inside the block, which is aligned to more. Device threads that use the
            // block after it was freed do so with atomic accesses, as this one is.
            let place = unsafe { AtomicU64::from_ptr(to.as_ptr().cast::<u64>().add(at)) };
            place.store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
        for (at, &byte) in rest.iter().enumerate() {
            // SAFETY: inside the block. Device threads that use the block after it was freed do so
            // with atomic accesses, as this one is.
            let place = unsafe { AtomicU8::from_ptr(to.as_ptr().add(8 * words.len() + at)) };
            place.store(byte, Ordering::Relaxed);
        }
    }

    /// The host address of a device access; `None` if it is not allowed.
    pub(crate) fn resolve(
        &self,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Option<NonNull<u8>> {
        if is_mapped(address) {
            let found = self.mapped.resolve(address, bytes, kind);
            found.or_else(|| self.resolve_registered(address, bytes))
        } else {
            self.device.resolve(address, bytes, kind)
        }
    }

    #[cold]
    fn resolve_registered(&self, address: u64, bytes: u64) -> Option<NonNull<u8>> {
        self.registered_range(address, bytes)?;
        NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize))
    }
}
