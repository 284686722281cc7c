//! Device data that has an original on the host.
//!
//! This table is searched by device address, for the arguments of calls. The tables of data for
//! launches (`runtime::data_environment`, and `device::table` of libomptarget) are searched by host
//! address; they own device memory and count its users. One table cannot be both: calls write
//! originals at any time, but Rust code has references to the data of `runtime::data_environment`, and
//! OpenMP copies data only at constructs.

use std::{
    fmt,
    ptr::NonNull,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::base::ranges::{AddrRange, Found, RangeMap};

/// A table of device data that has originals on the host.
///
/// Arguments in such data are not copied to temporary memory: the host function gets the original's
/// address. Any number of threads may use a table; its lock is held only for look-ups, never during
/// a copy or a host function. Instead a running request keeps the data that it uses in the table,
/// and [`remove`](Self::remove) rejects its removal until the request has ended.
#[derive(Default)]
pub struct PresentTable {
    /// Number of `entries`; lets a request pass an empty table without the lock.
    count: AtomicUsize,
    /// By device address.
    entries: RwLock<RangeMap<Arc<Present>>>,
}

/// One range of a [`PresentTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresentRange {
    /// Device address.
    pub device: u64,
    /// Host address of the original.
    pub host: usize,
    /// Bytes.
    pub len: usize,
}

impl fmt::Display for PresentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.device.wrapping_add(self.len as u64);
        write!(
            f,
            "[{:#x}, {end:#x}) (host address {:#x}, {} bytes)",
            self.device, self.host, self.len
        )
    }
}

/// The reason why a range was not inserted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// It shares bytes with a range of the table.
    #[error("device data {range} overlaps the present data {present}; remove that first")]
    Overlap {
        /// The range to be inserted.
        range: PresentRange,
        /// The range in the table.
        present: PresentRange,
    },
    /// It is empty, at a null device address, or runs past the end of the
    /// address space.
    #[error("device data {0} is empty, at address 0, or runs past the end of the address space")]
    Range(PresentRange),
}

/// The reason why a range was not removed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoveError {
    /// A running request uses it.
    #[error(
        "present data {0} is in use by a running host call; remove it after the host function has returned"
    )]
    InUse(PresentRange),
    /// No range begins at the address.
    #[error("no present data begins at device address {0:#x}")]
    NotFound(u64),
}

impl PresentTable {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        PresentTable {
            count: AtomicUsize::new(0),
            entries: RwLock::new(RangeMap::new()),
        }
    }

    /// Declares that the `len` bytes at `host` are the original of the device
    /// data at `device`.
    ///
    /// # Safety
    ///
    /// Until the range is [removed](Self::remove), `host` is valid for reads and writes of `len`
    /// bytes and no reference to them is used: requests of the device read and write them at any
    /// time, several at once if the device requests it.
    ///
    /// # Errors
    ///
    /// The range overlaps one of the table, or is invalid.
    pub unsafe fn insert(
        &self,
        host: NonNull<u8>,
        device: u64,
        len: usize,
    ) -> Result<(), InsertError> {
        let entry = Present { host, device, len };
        let range = entry.range();
        let addresses = match AddrRange::new(device, len) {
            Some(addresses) if len > 0 && device != 0 => addresses,
            _ => return Err(InsertError::Range(range)),
        };
        let mut entries = self.write();
        if let Found::Inside(_, present) | Found::Partly(_, present) = entries.find(addresses) {
            let present = present.range();
            return Err(InsertError::Overlap { range, present });
        }
        // It is not empty and overlaps none.
        let _ = entries.insert(addresses, Arc::new(entry));
        self.count.store(entries.len(), Ordering::Release);
        Ok(())
    }

    /// Removes the range that begins at device address `device`. After that no request uses its
    /// host memory.
    ///
    /// # Errors
    ///
    /// No range begins there, or a running request uses it. This does not wait for the request,
    /// which may itself be waiting for the caller.
    pub fn remove(&self, device: u64) -> Result<PresentRange, RemoveError> {
        let mut entries = self.write();
        let Some(entry) = entries.get_mut(device as usize) else {
            return Err(RemoveError::NotFound(device));
        };
        let range = entry.range();
        // New uses begin under the lock, which is held here; `get_mut` also orders the effects of
        // earlier uses before later code.
        if Arc::get_mut(entry).is_none() {
            return Err(RemoveError::InUse(range));
        }
        entries.remove(device as usize);
        self.count.store(entries.len(), Ordering::Release);
        Ok(range)
    }

    /// Number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Whether the table has no ranges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Access for look-ups, which holds the lock; `None` if the table is empty.
    #[inline]
    pub(super) fn read(&self) -> Option<PresentReader<'_>> {
        if self.is_empty() {
            return None;
        }
        // No panic leaves the table half-changed.
        Some(PresentReader(
            self.entries.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    fn write(&self) -> RwLockWriteGuard<'_, RangeMap<Arc<Present>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PresentTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentTable")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A range with its original. Each `Arc` of it keeps it in the table.
pub(super) struct Present {
    host: NonNull<u8>,
    device: u64,
    len: usize,
}

// SAFETY: `host` is not dereferenced here. Code that does so relies on the contract of
// `PresentTable::insert`, which covers all threads.
unsafe impl Send for Present {}
// SAFETY: all fields are plain values that never change.
unsafe impl Sync for Present {}

impl Present {
    fn range(&self) -> PresentRange {
        PresentRange {
            device: self.device,
            host: self.host.as_ptr().addr(),
            len: self.len,
        }
    }

    /// The host address for device address `device`. If that lies outside, the result is only a
    /// base for offsets.
    pub(super) fn translate(&self, device: u64) -> *mut u8 {
        let offset = device.wrapping_sub(self.device);
        self.host.as_ptr().wrapping_add(offset as usize)
    }
}

/// A [`PresentTable`] locked for look-ups.
pub(super) struct PresentReader<'a>(RwLockReadGuard<'a, RangeMap<Arc<Present>>>);

impl PresentReader<'_> {
    /// The data that `[start, end)` lies in, if any; an empty range also lies in data that ends at
    /// it. The error is data that it only overlaps.
    pub(super) fn find(&self, start: u64, end: u64) -> Result<Option<&Arc<Present>>, PresentRange> {
        let find = |start: u64, len: u64| {
            AddrRange::new(start, len).map_or(Found::Absent, |range| self.0.find(range))
        };
        match find(start, end - start) {
            Found::Inside(_, present) => Ok(Some(present)),
            Found::Partly(_, present) => Err(present.range()),
            Found::Absent => match find(start.wrapping_sub(1), 0) {
                Found::Inside(_, present) if start == end => Ok(Some(present)),
                _ => Ok(None),
            },
        }
    }
}
