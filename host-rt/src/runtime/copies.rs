//! One queue's copies, allocations and launch, and the counters of copies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::on_device::OnDevice;
use super::{Kernel, Report, Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::{DeviceAddr, DeviceError, Event, Fill, Grid, Params, Queue};

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
}

/// A queue for one launch or mapping: it allocates memory, copies, and runs at most one kernel.
/// Dropping it waits for the copies and then frees the memory.
pub(super) struct Copies<'a> {
    runtime: &'a Runtime,
    /// `None` while a kernel runs in it, and after a kernel that has passed its deadline.
    queue: Option<Box<dyn Queue>>,
    /// Whether the queue has work that was not waited for.
    is_pending: bool,
    /// The end of the copies before a kernel; `None` once that kernel has ended.
    before_kernel: Option<Arc<dyn Event>>,
    /// Memory that the queue's work uses. `drop` waits for the work before this field is dropped.
    allocated: Vec<Arc<OnDevice>>,
}

impl<'a> Copies<'a> {
    /// An idle queue without copies.
    pub(super) fn new(runtime: &'a Runtime) -> Result<Self> {
        Ok(Copies {
            runtime,
            queue: Some(runtime.queue()?),
            is_pending: false,
            before_kernel: None,
            allocated: Vec::new(),
        })
    }

    pub(super) fn runtime(&self) -> &'a Runtime {
        self.runtime
    }

    /// Allocates a device copy of `range` for later operations of this queue.
    pub(super) fn alloc(&mut self, range: AddrRange, fill: Fill) -> Result<Arc<OnDevice>> {
        let runtime = self.runtime;
        let on_device = Arc::new(OnDevice::new(runtime, self.queue(), range, fill)?);
        self.allocated.push(Arc::clone(&on_device));
        Ok(on_device)
    }

    /// Starts copying `len` bytes to device address `to`.
    ///
    /// # Safety
    /// The bytes at `from` are readable, and not written, until `self` is finished or dropped, or
    /// a kernel that is [launched](Self::launch) later has ended without an error.
    pub(super) unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise; `finish` and the drop both wait.
        unsafe { self.queue().copy_to_device(to, from, len)? };
        let counts = self.runtime.counts();
        counts.to.fetch_add(1, Ordering::Relaxed);
        counts.to_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Starts copying `len` bytes from device address `from`.
    ///
    /// # Safety
    /// `len` bytes at `to` are writable, and not used otherwise, until `self` is finished or
    /// dropped. No kernel is launched here in between.
    pub(super) unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise; `finish` and the drop both wait.
        unsafe { self.queue().copy_from_device(to, from, len)? };
        let counts = self.runtime.counts();
        counts.from.fetch_add(1, Ordering::Relaxed);
        counts.from_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Runs a kernel after the copies so far, and waits for it. If the kernel passes its deadline,
    /// it keeps the queue, and `self` accepts no more work.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        kernel: &Kernel,
        grid: Grid,
        params: &Params,
    ) -> Result<Report> {
        // If the kernel passes its deadline, `wait` uses this event to wait for the copies only.
        self.before_kernel = self.is_pending.then(|| self.queue().record_event());
        // SAFETY: the caller's promise.
        let mut launch = unsafe { kernel.start_in(self.queue(), None, grid, params)? };
        launch.queue = self.queue.take();
        let report = launch.wait();
        if launch.running.is_done() {
            self.queue = launch.queue.take();
            self.before_kernel = None;
        }
        let report = report?;
        // The kernel has run, so the copies before it are done.
        self.is_pending = false;
        Ok(report)
    }

    /// Waits for all copies.
    pub(super) fn finish(mut self) -> Result<()> {
        self.wait()
    }

    fn wait(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_pending) {
            return Ok(());
        }
        match (&mut self.queue, self.before_kernel.take()) {
            (Some(queue), _) => Ok(queue.synchronize()?),
            (None, Some(copied)) => {
                let copied = copied.sync();
                copied.map_err(|reason| DeviceError::DependencyFailed { reason }.into())
            }
            (None, None) => Ok(()),
        }
    }

    fn queue(&mut self) -> &mut dyn Queue {
        self.is_pending = true;
        match &mut self.queue {
            Some(queue) => &mut **queue,
            None => unreachable!("nothing is queued after a launch that passed its deadline"),
        }
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.wait() {
            // A caller that drops `self` without `finish` already has an error to report.
            tracing::debug!(%error, "an abandoned copy failed");
        }
    }
}
