//! Copies between host and device for one serving thread.

use std::sync::Arc;

use shared_abi::words::{Coherent, SystemWords};

use super::Reserved;
use crate::device::{Device, DeviceAddr, DeviceError, Event, MappedMemory, Queue};

/// Access of the host to the memory of a device, shared by all wires and threads.
#[derive(Clone)]
pub(crate) struct DeviceAccess {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) bounce: Arc<MappedMemory>,
    pub(crate) reserved: Arc<Reserved>,
}

impl DeviceAccess {
    /// A copier for one thread.
    pub(crate) fn copier(&self) -> Copier {
        Copier {
            access: self.clone(),
            queue: None,
        }
    }
}

/// Copies device memory through its own queue. The bounce area is mapped and accessed directly.
pub(crate) struct Copier {
    access: DeviceAccess,
    /// Created by the first copy that needs it.
    queue: Option<Box<dyn Queue>>,
}

impl Copier {
    /// The bounce area.
    pub(super) fn bounce(&self) -> Coherent {
        // SAFETY: every use checks its offsets against `bounce_bytes` or `offset_in_bounce`; the
        // memory is aligned to 128 bytes and lives as long as `self`; the device's accesses are
        // atomic or ordered by the wire.
        unsafe { Coherent::new(self.access.bounce.host.as_ptr()) }
    }

    /// Size of the bounce area in bytes.
    pub(super) fn bounce_bytes(&self) -> usize {
        self.access.bounce.bytes
    }

    /// Offset of a device range in the bounce area; `None` if it is not inside.
    pub(super) fn offset_in_bounce(&self, address: DeviceAddr, len: u64) -> Option<usize> {
        self.access
            .bounce
            .contains(address, len)
            .then(|| (address.0 - self.access.bounce.device.0) as usize)
    }

    /// Copies from the bounce area at offset `at`. Panics if the range is not inside.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub(super) unsafe fn read_bounce(&self, at: usize, to: *mut u8, len: usize) {
        self.assert_in_bounce(at, len);
        // SAFETY: the caller ensures that `to` is writable; the range is in the area.
        unsafe { self.bounce().read_bytes(at, to, len) };
    }

    /// Copies to the bounce area at offset `at`. Panics if the range is not inside.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    pub(super) unsafe fn write_bounce(&self, at: usize, from: *const u8, len: usize) {
        self.assert_in_bounce(at, len);
        // SAFETY: the caller ensures that `from` is readable; the range is in the area.
        unsafe { self.bounce().write_bytes(at, from, len) };
    }

    fn assert_in_bounce(&self, at: usize, len: usize) {
        let end = at.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.bounce_bytes()));
    }

    fn queue(&mut self) -> Result<&mut dyn Queue, DeviceError> {
        let queue = match self.queue.take() {
            Some(queue) => queue,
            None => self.access.device.queue()?,
        };
        Ok(&mut **self.queue.insert(queue))
    }

    /// Starts a copy from device memory.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes, and nothing else accesses it until
    /// [`finish`](Self::finish) returns.
    pub(super) unsafe fn fetch(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        match self.offset_in_bounce(from, len as u64) {
            // SAFETY: the caller ensures that `to` is writable.
            Some(at) => unsafe { self.read_bounce(at, to, len) },
            // SAFETY: the caller ensures that `to` is writable, and unused until `finish` has
            // waited for the queue.
            None => unsafe { self.queue()?.copy_from_device(to, from, len)? },
        }
        Ok(())
    }

    /// Starts a copy to device memory.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes, and nothing writes it until [`finish`](Self::finish)
    /// returns.
    pub(super) unsafe fn store(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        match self.offset_in_bounce(to, len as u64) {
            // SAFETY: the caller ensures that `from` is readable.
            Some(at) => unsafe { self.write_bounce(at, from, len) },
            // SAFETY: the caller ensures that `from` is readable, and unwritten until `finish` has
            // waited for the queue.
            None => unsafe {
                self.access.reserved.check(to, len)?;
                self.queue()?.copy_to_device(to, from, len)?;
            },
        }
        Ok(())
    }

    /// Starts a copy from device memory that a device has named to other device memory. Both stay allocated until the
    /// event, which marks the end, is found done or failed. [`finish`](Self::finish) does not wait for it.
    pub(crate) fn fetch_on_device(
        &self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<Arc<dyn Event>, DeviceError> {
        // In a queue of its own: nothing else of this thread waits for it.
        let mut queue = self.access.device.queue()?;
        let started = queue.copy_beside_kernels(to, from, len);
        let event = queue.record_event();
        if let Err(error) = started {
            // A part may be on its way.
            let _ = event.sync();
            return Err(error);
        }
        Ok(event)
    }

    /// Starts a copy to device memory that a device has named from other device memory. Otherwise as
    /// [`fetch_on_device`](Self::fetch_on_device).
    pub(crate) fn store_on_device(
        &self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<Arc<dyn Event>, DeviceError> {
        self.access.reserved.check(to, len)?;
        self.fetch_on_device(to, from, len)
    }

    /// See [`Device::in_place`]. Does not wait for started copies.
    pub(crate) fn in_place(
        &self,
        address: DeviceAddr,
        len: usize,
        writes: bool,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        let is_reserved = || self.access.reserved.check(address, len).is_err();
        !(writes && is_reserved()) && self.access.device.in_place(address, len, writes, access)
    }

    /// Stores a word that a device thread waits for in device memory.
    pub(super) fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError> {
        self.access.reserved.check(to, 4)?;
        let queue = self.queue()?;
        queue.store_word(to, word)?;
        queue.synchronize()
    }

    /// Waits for all started copies.
    pub(crate) fn finish(&mut self) -> Result<(), DeviceError> {
        match &mut self.queue {
            Some(queue) => queue.synchronize(),
            None => Ok(()),
        }
    }
}
