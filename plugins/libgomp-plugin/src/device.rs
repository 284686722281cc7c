//! A device: its runtime, its memory for libgomp.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use revoff_host::device::DeviceError;
use revoff_host::device::{DeviceAddr, Fill, Global, Queue};
use revoff_host::ranges::AddrRange;
use revoff_host::{DeviceBuffer, Runtime};

use crate::block_cache::{BlockCache, CachedBlock};
use crate::error::Result;

/// A device that libgomp has initialised.
pub struct Device {
    /// Its number among this plugin's devices, which is not OpenMP's.
    pub ord: usize,
    /// host-rt's runtime on it.
    pub runtime: Runtime,
    /// Memory of ended launches.
    pub(crate) cache: Arc<BlockCache>,
    /// Memory that libgomp may have mapped, by address: its allocations, and the variables of
    /// images.
    memory: RwLock<BTreeMap<u64, Memory>>,
    /// Control variables of the first image, the only ones that libgomp knows.
    pub(crate) icvs: OnceLock<Global>,
    /// OpenMP's number of the device, which libgomp writes to the first image.
    number: AtomicI32,
    /// Whether libgomp has used it beyond loading images.
    used: AtomicBool,
    /// Running target regions.
    pub(crate) regions: Regions,
}

/// The target regions of a device.
#[derive(Default)]
pub(crate) struct Regions {
    /// The number of running regions.
    running: AtomicUsize,
    /// A region has failed, and perhaps the device with it.
    failed: AtomicBool,
}

impl Regions {
    pub(crate) fn begin(&self) {
        // Relaxed: a count, see `are_over`.
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        // Relaxed: a count, see `are_over`.
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn note_failed(&self) {
        // Relaxed: see `are_over`.
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether all have ended without errors; called when no more regions begin.
    pub(crate) fn are_over(&self) -> bool {
        // Relaxed, both: no other access depends on them.
        self.running.load(Ordering::Relaxed) == 0 && !self.failed.load(Ordering::Relaxed)
    }
}

/// Memory that libgomp may have mapped.
enum Memory {
    Allocated(DeviceBuffer),
    /// A variable of an image, and its size.
    Variable(u64),
}

impl Memory {
    fn bytes(&self) -> u64 {
        match self {
            Self::Allocated(buffer) => buffer.bytes(),
            Self::Variable(bytes) => *bytes,
        }
    }
}

impl Device {
    /// Opens the device called `name`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(
        ord: usize,
        name: &str,
    ) -> revoff_host::Result<Self, revoff_host::RuntimeError> {
        Ok(Self {
            ord,
            runtime: Runtime::open(name)?,
            cache: Arc::default(),
            memory: RwLock::default(),
            icvs: OnceLock::new(),
            number: AtomicI32::new(ord as i32),
            used: AtomicBool::new(false),
            regions: Regions::default(),
        })
    }

    /// No panic leaves the map inconsistent.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Memory>> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Memory>> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device memory with unspecified contents.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn memory(
        &self,
        bytes: u64,
    ) -> revoff_host::Result<DeviceBuffer, revoff_host::RuntimeError> {
        let memory = self.runtime.alloc_filled(bytes, Fill::Any);
        memory.or_else(|_| {
            // Unused memory of launches may be in the way.
            self.cache.clear();
            self.runtime.alloc_filled(bytes, Fill::Any)
        })
    }

    /// Device memory for a launch, with unspecified contents.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn launch_memory(
        &self,
        bytes: u64,
    ) -> revoff_host::Result<CachedBlock, revoff_host::RuntimeError> {
        let block = self
            .cache
            .take(bytes)
            .map_or_else(|| self.memory(bytes), Ok)?;
        Ok(CachedBlock::new(&self.cache, block))
    }

    /// Allocates device memory for libgomp.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn alloc(&self, bytes: u64) -> revoff_host::Result<u64, revoff_host::RuntimeError> {
        let buffer = self.memory(bytes)?;
        let address = buffer.address().0;
        self.write().insert(address, Memory::Allocated(buffer));
        Ok(address)
    }

    /// Records that libgomp has used the device beyond loading the first images.
    pub(crate) fn note_used(&self) {
        // Relaxed: see `is_used`.
        self.used.store(true, Ordering::Relaxed);
    }

    /// Whether libgomp has used the device beyond loading the first images.
    pub(crate) fn is_used(&self) -> bool {
        // Relaxed: if it is seen late, a library is only kept like those of the first images.
        self.used.load(Ordering::Relaxed)
    }

    /// Frees an allocation of [`alloc`](Self::alloc); returns whether it was one.
    pub(crate) fn free(&self, address: u64) -> bool {
        let mut memory = self.write();
        if !matches!(memory.get(&address), Some(Memory::Allocated(_))) {
            return false;
        }
        let freed = memory.remove(&address);
        drop(memory);
        drop(freed);
        true
    }

    /// Adds a variable of an image, which libgomp maps to the host's.
    pub(crate) fn add_variable(&self, variable: Global) {
        let memory = Memory::Variable(variable.size);
        self.write().insert(variable.address.0, memory);
    }

    /// Whether libgomp may have mapped data in the range.
    pub(crate) fn may_be_mapped(&self, address: u64, bytes: u64) -> bool {
        // As in libgomp's look-up, an empty range also lies in a range that ends at it.
        let start = address.saturating_sub(u64::from(bytes == 0));
        let end = address.saturating_add(bytes.max(1));
        let memory = self.read();
        let last = memory.range(..end).next_back();
        last.is_some_and(|(&first, memory)| first.saturating_add(memory.bytes()) > start)
    }

    /// Whether the range lies in one of libgomp's allocations or variables, which a program's
    /// kernels may use.
    pub(crate) fn is_memory(&self, address: u64, bytes: u64) -> bool {
        let memory = self.read();
        let before = memory.range(..=address).next_back();
        let range = before.and_then(|(&first, memory)| AddrRange::new(first, memory.bytes()));
        // A bare address counts as one byte.
        range.is_some_and(|range| range.has(address, bytes.max(1)))
    }

    /// The `count` words at device address `from`.
    ///
    /// # Errors
    /// The host cannot reach them.
    pub fn read_words(&self, from: DeviceAddr, count: usize) -> Result<Vec<u64>> {
        let mut words = vec![0u64; count];
        let (to, bytes) = (words.as_mut_ptr().cast(), count * size_of::<u64>());
        // SAFETY: `words` has this many bytes, and is left alone until the copy is done.
        self.copy(|queue| unsafe { queue.copy_from_device(to, from, bytes) })?;
        Ok(words)
    }

    /// Writes `bytes` to device address `to`.
    ///
    /// # Errors
    /// The host cannot reach it.
    pub fn write_bytes(&self, to: DeviceAddr, bytes: &[u8]) -> Result<()> {
        // SAFETY: `bytes` outlives the copy.
        let copied =
            self.copy(|queue| unsafe { queue.copy_to_device(to, bytes.as_ptr(), bytes.len()) });
        Ok(copied?)
    }

    /// Copies with a new queue, and waits for the copies.
    ///
    /// # Errors
    /// The host cannot reach one of the ranges.
    pub(crate) fn copy(
        &self,
        copy: impl FnOnce(&mut dyn Queue) -> Result<(), DeviceError>,
    ) -> revoff_host::Result<(), revoff_host::RuntimeError> {
        let mut queue = self.runtime.queue()?;
        let copied = copy(&mut *queue);
        // Even after a failure, since earlier copies may be pending.
        let finished = queue.synchronize();
        Ok(copied.and(finished)?)
    }

    /// Records a copy by libgomp to the first image's control variables, which begin with the
    /// device's number.
    pub(crate) fn note_written(&self, address: DeviceAddr, number: i32) {
        if self.icvs.get().is_some_and(|icvs| icvs.address == address) {
            // Relaxed: a number, which libgomp's locks order before every launch.
            self.number.store(number, Ordering::Relaxed);
        }
    }

    /// OpenMP's number of the device.
    pub(crate) fn number(&self) -> i32 {
        // Relaxed: libgomp's locks order it before every launch.
        self.number.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libgomp_may_have_mapped() {
        let device = Device::open(0, "emu").unwrap();
        let a = device.alloc(100).unwrap();
        device.add_variable(Global {
            address: DeviceAddr(64),
            size: 4,
        });
        for (address, bytes, is_mapped) in [
            (a, 1, true),
            (a, 100, true),
            (a + 99, 1, true),
            (a + 100, 1, false),
            // As in libgomp's look-up, an empty range also lies in a range that ends at it.
            (a + 100, 0, true),
            (a + 101, 0, false),
            (a, 0, true),
            (a - 1, 1, false),
            (a - 1, 2, true),
            (a - 8, 300, true),
            (60, 4, false),
            (60, 5, true),
            (68, 8, false),
            (0, u64::MAX, true),
            (u64::MAX, 8, false),
        ] {
            let found = device.may_be_mapped(address, bytes);
            assert_eq!(found, is_mapped, "{bytes} bytes at {address:#x} of {a:#x}");
        }
        assert!(!device.free(a + 1) && !device.free(64));
        assert!(device.free(a) && !device.may_be_mapped(a, 100));
        assert!(!device.free(a));
    }

    #[test]
    fn its_number_is_what_libgomp_writes() {
        let device = Device::open(2, "emu").unwrap();
        assert_eq!(device.number(), 2);
        device.note_written(DeviceAddr(64), 7);
        assert_eq!(device.number(), 2, "no image is loaded");
        let icvs = Global {
            address: DeviceAddr(64),
            size: 16,
        };
        device.icvs.set(icvs).unwrap();
        device.note_written(DeviceAddr(68), 7);
        assert_eq!(device.number(), 2, "another variable");
        device.note_written(DeviceAddr(64), 7);
        assert_eq!(device.number(), 7);
    }
}
