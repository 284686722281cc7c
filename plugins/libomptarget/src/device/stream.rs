//! The copies of one construct, in order.

use std::sync::Arc;

use revoff_host::Chain;
use revoff_host::device::DeviceError;
use revoff_host::device::{DeviceAddr, Event, EventState, Queue};

use super::Device;
use super::mapped::{Content, Mapped};
use crate::report::message::{self, Failed};
use crate::report::profile;
use crate::report::source::SourceName;
use crate::settings::{self, Info};

/// A queue of a device, for one construct.
pub(crate) struct Stream<'d> {
    device: &'d Device,
    /// Created at the first copy.
    queue: Option<Box<dyn Queue>>,
    /// Sources of copies that the stream owns.
    sources: Vec<Box<[u8]>>,
}

impl<'d> Stream<'d> {
    pub(crate) fn new(device: &'d Device) -> Self {
        Self {
            device,
            queue: None,
            sources: Vec::new(),
        }
    }

    fn queue(&mut self) -> Result<&mut Box<dyn Queue>, Failed> {
        if self.queue.is_none() {
            self.queue = Some(self.device.queue()?);
        }
        match &mut self.queue {
            Some(queue) => Ok(queue),
            None => unreachable!("it was just put there"),
        }
    }

    /// Copies host memory to the device.
    ///
    /// # Safety
    /// It is readable and does not change until [`synchronize`](Self::synchronize) returns.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) unsafe fn copy_to(
        &mut self,
        to: u64,
        from: *const u8,
        bytes: usize,
        name: SourceName,
    ) -> Result<(), Failed> {
        if settings::info().has(Info::COPIES) {
            let text = format!(
                "Copying data from host to device, HstPtr={:#018x}, TgtPtr={to:#018x}, Size={bytes}, Name={}",
                from.addr(),
                name.shown(),
            );
            message::info(self.device.number, &text);
        }
        let _span = profile::span("HostToDev", || format!("Size={bytes}B"));
        // SAFETY: the caller's promise.
        let copied = unsafe { self.queue()?.copy_to_device(DeviceAddr(to), from, bytes) };
        copied.map_err(|error| failed("to", &error))
    }

    /// Like [`copy_to`](Self::copy_to), but it keeps a copy of the bytes.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn copy_bytes_to(
        &mut self,
        to: u64,
        bytes: &[u8],
        name: SourceName,
    ) -> Result<(), Failed> {
        let from = self.keep(bytes);
        // SAFETY: kept until then.
        unsafe { self.copy_to(to, from, bytes.len(), name) }
    }

    /// Like [`copy_bytes_to`](Self::copy_bytes_to), for the runtime's own data, which is not
    /// reported to users.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn send(&mut self, to: u64, bytes: &[u8]) -> Result<(), Failed> {
        let from = self.keep(bytes);
        // SAFETY: kept until then.
        let copied = unsafe {
            self.queue()?
                .copy_to_device(DeviceAddr(to), from, bytes.len())
        };
        copied.map_err(|error| failed("to", &error))
    }

    /// A copy of the bytes that lives until the stream is synchronised.
    fn keep(&mut self, bytes: &[u8]) -> *const u8 {
        let source: Box<[u8]> = bytes.into();
        // A box's content does not move with the box, and is not shared.
        let from = source.as_ptr();
        self.sources.push(source);
        from
    }

    /// Copies host memory to its mapped data, whose `content` is locked. It rewrites attached
    /// pointers after the copy, which contains the host's.
    ///
    /// # Safety
    /// As for [`copy_to`](Self::copy_to).
    ///
    /// # Errors
    /// The device fails.
    pub(crate) unsafe fn copy_mapped(
        &mut self,
        mapped: &Mapped,
        content: &mut Content,
        begin: usize,
        bytes: usize,
    ) -> Result<(), Failed> {
        let name = mapped.name();
        if let Some(event) = &content.event {
            self.wait_for(event);
        }
        // SAFETY: the caller's promise.
        unsafe { self.copy_to(mapped.at(begin), begin as *const u8, bytes, name)? };
        let end = begin.saturating_add(bytes);
        for (&host, attached) in content.attached.range(..end) {
            if host.saturating_add(attached.on_host.len()) > begin {
                self.copy_bytes_to(attached.place, &attached.on_device, name)?;
            }
        }
        content.event = self.record();
        Ok(())
    }

    /// Copies device memory to the host's.
    ///
    /// # Safety
    /// That is writable and not shared until [`synchronize`](Self::synchronize) returns.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) unsafe fn copy_from(
        &mut self,
        to: *mut u8,
        from: u64,
        bytes: usize,
        name: SourceName,
    ) -> Result<(), Failed> {
        if settings::info().has(Info::COPIES) {
            let text = format!(
                "Copying data from device to host, TgtPtr={from:#018x}, HstPtr={:#018x}, Size={bytes}, Name={}",
                to.addr(),
                name.shown(),
            );
            message::info(self.device.number, &text);
        }
        let _span = profile::span("DevToHost", || format!("Size={bytes}B"));
        // SAFETY: the caller's promise.
        let copied = unsafe { self.queue()?.copy_from_device(to, DeviceAddr(from), bytes) };
        copied.map_err(|error| failed("from", &error))
    }

    /// Copies device memory to device memory.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn copy_on_device(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
    ) -> Result<(), Failed> {
        let (to, from) = (DeviceAddr(to), DeviceAddr(from));
        let copied = self.queue()?.copy_on_device(to, from, bytes);
        copied.map_err(|error| failed("on", &error))
    }

    /// An event after the copies so far; `None` if they are complete already.
    pub(crate) fn record(&mut self) -> Option<Arc<dyn Event>> {
        if self.device.is_synchronous {
            return None;
        }
        self.queue.as_mut().map(|queue| queue.record_event())
    }

    /// Makes later copies wait for `event`.
    pub(crate) fn wait_for(&mut self, event: &Arc<dyn Event>) {
        if event.check() == EventState::Done {
            return;
        }
        match self.queue() {
            Ok(queue) => queue.wait_event(event),
            Err(Failed) => drop(event.sync()),
        }
    }

    /// Waits until all copies are complete.
    ///
    /// # Errors
    /// A copy failed.
    pub(crate) fn synchronize(&mut self) -> Result<(), Failed> {
        let done = match &mut self.queue {
            Some(queue) => {
                let _span = profile::span("Runtime: synchronize", String::new);
                queue.synchronize()
            }
            None => Ok(()),
        };
        self.sources.clear();
        done.map_err(|error| failed("to or from", &error))
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if let Some(queue) = &mut self.queue {
            // Copies in flight use memory that the construct does not own. The error that ended
            // the construct has been reported.
            let _ = queue.synchronize();
        }
    }
}

fn failed(direction: &str, error: &DeviceError) -> Failed {
    message::error(&format!(
        "Copying data {direction} device failed: {}",
        Chain(error)
    ))
}
