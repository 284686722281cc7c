//! The counters of copies for launches and mapped data.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number and size of the copies that a runtime has made for launches of typed kernels and for
/// mapped data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Number of copies to the device.
    pub to: u64,
    /// Bytes copied to the device.
    pub to_bytes: u64,
    /// Number of copies from the device.
    pub from: u64,
    /// Bytes copied from the device.
    pub from_bytes: u64,
}

/// The counters behind [`Transfers`]. All accesses are relaxed, because no other memory depends on
/// their values.
#[derive(Default)]
pub(crate) struct Counts {
    to: AtomicU64,
    to_bytes: AtomicU64,
    from: AtomicU64,
    from_bytes: AtomicU64,
}

impl Counts {
    pub(crate) fn read(&self) -> Transfers {
        Transfers {
            to: self.to.load(Ordering::Relaxed),
            to_bytes: self.to_bytes.load(Ordering::Relaxed),
            from: self.from.load(Ordering::Relaxed),
            from_bytes: self.from_bytes.load(Ordering::Relaxed),
        }
    }

    /// Counts a copy of `len` bytes to the device.
    pub(super) fn add_to(&self, len: usize) {
        self.to.fetch_add(1, Ordering::Relaxed);
        self.to_bytes.fetch_add(len as u64, Ordering::Relaxed);
    }

    /// Counts a copy of `len` bytes from the device.
    pub(super) fn add_from(&self, len: usize) {
        self.from.fetch_add(1, Ordering::Relaxed);
        self.from_bytes.fetch_add(len as u64, Ordering::Relaxed);
    }
}
