//! Copying, and counting what was copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::on_device::OnDevice;
use super::{Kernel, Report, Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::{DeviceAddr, DeviceError, Event, Fill, Grid, Params, Queue};

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

/// A queue that allocates memory, copies, and runs a kernel in between. Dropping it waits for the
/// copies, and then frees the memory.
pub(super) struct Copies<'a> {
    runtime: &'a Runtime,
    /// `None` while a kernel runs there, and for ever if it passes its deadline.
    queue: Option<Box<dyn Queue>>,
    /// Whether something was queued that has not been waited for.
    is_pending: bool,
    /// The end of the copies before a kernel, until it has ended.
    before_kernel: Option<Arc<dyn Event>>,
    /// Declared last: kept until the drop has waited.
    allocated: Vec<Arc<OnDevice>>,
}

impl<'a> Copies<'a> {
    /// None yet.
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

    /// Allocates device memory for what follows here.
    pub(super) fn alloc(&mut self, range: AddrRange, fill: Fill) -> Result<Arc<OnDevice>> {
        let runtime = self.runtime;
        let on_device = Arc::new(OnDevice::new(runtime, self.queue(), range, fill)?);
        self.allocated.push(Arc::clone(&on_device));
        Ok(on_device)
    }

    /// Begins to copy `len` bytes to device address `to`.
    ///
    /// # Safety
    /// They are readable, and nobody writes them, until this is finished or dropped, or a kernel
    /// that was [launched](Self::launch) after it has ended well.
    pub(super) unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise; `finish` and the drop both wait.
        unsafe { self.queue().copy_to_device(DeviceAddr(to), from, len)? };
        let counts = self.runtime.counts();
        counts.to.fetch_add(1, Ordering::Relaxed);
        counts.to_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Begins to copy `len` bytes from device address `from`.
    ///
    /// # Safety
    /// `to` is writable for as many, and nobody else uses it, until this is finished or
    /// dropped. No kernel is launched meanwhile.
    pub(super) unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise; `finish` and the drop both wait.
        unsafe { self.queue().copy_from_device(to, DeviceAddr(from), len)? };
        let counts = self.runtime.counts();
        counts.from.fetch_add(1, Ordering::Relaxed);
        counts.from_bytes.fetch_add(len as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Runs a kernel after the copies so far, and waits for it. If it passes its deadline, the
    /// queue is left to it, and nothing more can be queued here.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        kernel: &Kernel,
        grid: Grid,
        params: &Params,
    ) -> Result<Report> {
        // Only this waits for the copies if the launch is abandoned.
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
        // The kernel has run, so everything before it is done.
        self.is_pending = false;
        Ok(report)
    }

    /// Waits for all of them.
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
            None => unreachable!("nothing is queued after a launch that failed"),
        }
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.wait() {
            // The caller that drops it unfinished has an error to report already.
            tracing::debug!(%error, "copies that were given up failed");
        }
    }
}
