//! Copying, and counting what was copied.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Result, Runtime};
use crate::device::Queue;

/// Copies between host and device that a runtime has made so far for launches of typed
/// kernels and for mapped data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Copies to the device.
    pub to: u64,
    /// Bytes of them.
    pub to_bytes: u64,
    /// Copies from the device.
    pub from: u64,
    /// Bytes of them.
    pub from_bytes: u64,
}

/// [`Transfers`], counting. Relaxed throughout: each is a number by itself.
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
}

/// Copies under way. Dropping it waits for them.
pub(crate) struct Copies<'a> {
    runtime: &'a Runtime,
    /// Made for the first copy.
    queue: Option<Box<dyn Queue>>,
}

impl<'a> Copies<'a> {
    /// None yet.
    pub(crate) fn new(runtime: &'a Runtime) -> Self {
        Copies {
            runtime,
            queue: None,
        }
    }

    /// Begins to copy `len` bytes to device address `to`.
    ///
    /// # Safety
    /// They are readable, and nobody writes them, until this is finished or dropped.
    pub(crate) unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise; `finish` and the drop both synchronize.
        unsafe { self.queue()?.copy_to_device(to, from, len)? };
        let counts = self.runtime.counts();
        counts.to.fetch_add(1, Ordering::Relaxed);
        counts.to_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Begins to copy `len` bytes from device address `from`.
    ///
    /// # Safety
    /// `to` is writable for as many, and nobody else uses it, until this is finished or
    /// dropped.
    pub(crate) unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise; `finish` and the drop both synchronize.
        unsafe { self.queue()?.copy_from_device(to, from, len)? };
        let counts = self.runtime.counts();
        counts.from.fetch_add(1, Ordering::Relaxed);
        counts.from_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Waits for all of them.
    pub(crate) fn finish(mut self) -> Result<()> {
        match self.queue.take() {
            Some(mut queue) => Ok(queue.synchronize()?),
            None => Ok(()),
        }
    }

    fn queue(&mut self) -> Result<&mut dyn Queue> {
        let queue = match self.queue.take() {
            Some(queue) => queue,
            None => self.runtime.queue()?,
        };
        Ok(&mut **self.queue.insert(queue))
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        if let Some(queue) = &mut self.queue
            && let Err(error) = queue.synchronize()
        {
            // The caller that drops it unfinished has an error to report already.
            tracing::debug!(%error, "copies that were given up failed");
        }
    }
}
