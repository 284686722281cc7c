//! A queue that waits for its work, and frees its memory, when it is dropped.

use std::sync::Arc;

use super::launch::Watch;
use super::on_device::OnDevice;
use super::{Kernel, Report, Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::{DeviceAddr, DeviceError, Event, Fill, Grid, Params, Queue};

/// A queue for one launch or mapping: it allocates memory, copies, and runs at most one kernel.
/// Dropping it waits for the copies and then frees the memory.
pub(super) struct ScopedQueue<'a> {
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

impl<'a> ScopedQueue<'a> {
    /// An idle queue.
    pub(super) fn new(runtime: &'a Runtime) -> Result<Self> {
        Ok(ScopedQueue {
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
        self.runtime.counts().add_to(len);
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
        self.runtime.counts().add_from(len);
        Ok(())
    }

    /// Runs a kernel after the copies so far, and waits for it, with a watch if there is one. If the kernel
    /// passes its deadline, it keeps the queue, and `self` accepts no more work.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        kernel: &Kernel,
        grid: Grid,
        params: &Params,
        watch: Option<Watch<'_>>,
    ) -> Result<Report> {
        // If the kernel passes its deadline, `wait` uses this event to wait for the copies only.
        self.before_kernel = self.is_pending.then(|| self.queue().record_event());
        // SAFETY: the caller's promise.
        let mut launch = unsafe { kernel.start_in(self.queue(), None, grid, params)? };
        launch.queue = self.queue.take();
        let report = match watch {
            Some(watch) => launch.wait_watched(watch),
            None => launch.wait(),
        };
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

impl Drop for ScopedQueue<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.wait() {
            // A caller that drops `self` without `finish` already has an error to report.
            tracing::debug!(%error, "an abandoned copy failed");
        }
    }
}
