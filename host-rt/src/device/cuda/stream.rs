//! Streams, and the pinned memory that each has for small copies.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use cudarc::driver::sys::{CUresult, CUstream, CUstream_flags};

use super::context::Context;
use super::event::CudaEvent;
use super::mapped;
use crate::device::gpu::pool::Pooled;
use crate::device::gpu::readback;
use crate::device::{DeviceAddr, DeviceError, MappedMemory};

/// Pinned memory of a queue. Copies that exceed the rest of it before
/// [`Queue::synchronize`](crate::device::Queue::synchronize) go through the driver's own.
const STAGING: usize = 256 << 10;

/// Alignment of copies in the staging memory, so that a copy of a word is one access.
const STAGING_ALIGN: usize = 16;

/// The maximum number of streams of a device, unless queues hold more at a time. GPUs run this many kernels at a
/// time. Source: the CUDA C++ programming guide, "Maximum number of resident grids per device".
pub(super) const MAX_STREAMS: usize = 128;

/// A copy in the staging memory.
type PendingCopy = readback::PendingCopy<Arc<MappedMemory>>;

/// The copies to the host that an event finishes.
pub(super) type Readback = readback::Readback<Arc<MappedMemory>>;

/// A stream that waits for no other, and its staging memory. Created before kernels run and reused,
/// because creating one may make the driver wait for the device.
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: CUstream,
    staging: Arc<MappedMemory>,
    /// The used bytes of the staging memory.
    staged: usize,
    /// Staged copies without an event recorded after them, and the others.
    pending: Vec<PendingCopy>,
    readbacks: Vec<Arc<Readback>>,
    /// The ends of kernels that call the host and precede the next operation: the last such kernel
    /// in this stream, and those that the stream waits for.
    pub(super) callers: Vec<Arc<CudaEvent>>,
}

// SAFETY: streams may be used by any thread; `&mut` of the queue keeps it to one.
unsafe impl Send for Stream {}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let staging = Arc::new(mapped::alloc(context, STAGING)?);
        let _entered = context.enter()?;
        let mut raw = null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the function writes the handle.
        let code = unsafe { context.cu().cuStreamCreate(&raw mut raw, flags) };
        context.check("cuStreamCreate", code)?;
        Ok(Self {
            context: Arc::clone(context),
            raw,
            staging,
            staged: 0,
            pending: Vec::new(),
            readbacks: Vec::new(),
            callers: Vec::new(),
        })
    }

    /// The staging memory, which is zero as long as nothing is copied.
    pub(super) fn staging(&self) -> &Arc<MappedMemory> {
        &self.staging
    }

    /// Zeroes new memory, as another copy does with `zeros`, which stays zero and outlives the
    /// stream's work. A memset is a kernel: if kernels that wait for the host fill the device, it
    /// would wait for them.
    pub(super) fn zero(
        &self,
        zeros: &MappedMemory,
        address: DeviceAddr,
        size: usize,
    ) -> Result<(), DeviceError> {
        let from = zeros.host.as_ptr().cast_const();
        for at in (0..size).step_by(zeros.bytes) {
            let (to, len) = (address + at as u64, zeros.bytes.min(size - at));
            // SAFETY: the memory was just allocated; the zeros are long enough.
            let code = unsafe {
                self.context
                    .cu()
                    .cuMemcpyHtoDAsync_v2(to.0, from.cast(), len, self.raw)
            };
            self.context.check("cuMemcpyHtoDAsync", code)?;
        }
        Ok(())
    }

    /// Whether the staging memory has no room for `len` more bytes, which are few.
    pub(super) fn is_full_for(&self, len: usize) -> bool {
        self.staged + STAGING_ALIGN + len > STAGING
    }

    /// Room for `len` bytes in the staging memory, if there is enough.
    pub(super) fn stage(&mut self, len: usize) -> Option<NonNull<u8>> {
        let offset = self.staged.next_multiple_of(STAGING_ALIGN);
        let end = offset.checked_add(len).filter(|&end| end <= STAGING)?;
        self.staged = end;
        // SAFETY: `end` is within the memory.
        Some(unsafe { self.staging.host.add(offset) })
    }

    /// Records a copy of `len` bytes to `at` in the staging memory, whose bytes must then be copied
    /// to `to`.
    pub(super) fn arrives(&mut self, at: NonNull<u8>, to: *mut u8, len: usize) {
        let staged = Arc::clone(&self.staging);
        self.pending.push(PendingCopy {
            staged,
            at,
            to,
            len,
        });
    }

    /// Drops copies after which no event was recorded: nothing waits for them any more.
    pub(super) fn drop_pending(&mut self) {
        self.pending.clear();
    }

    /// The copies that precede an event recorded now.
    pub(super) fn readbacks(&mut self) -> Vec<Arc<Readback>> {
        self.readbacks.retain(|readback| !readback.is_over());
        if !self.pending.is_empty() {
            let copies = std::mem::take(&mut self.pending);
            self.readbacks.push(Readback::new(copies));
        }
        self.readbacks.clone()
    }

    /// Waits until the stream is idle, and finishes its copies.
    pub(super) fn synchronize(&mut self) -> Result<(), DeviceError> {
        let synchronized = self.context.enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { self.context.cu().cuStreamSynchronize(self.raw) };
            self.context.check_progress("cuStreamSynchronize", code)
        });
        self.settle(&synchronized);
        synchronized
    }

    /// Finishes the copies if the stream is idle, or gives them up.
    fn settle(&mut self, how: &Result<(), DeviceError>) {
        for readback in self.readbacks() {
            match how {
                Ok(()) => {
                    // SAFETY: the stream is idle. A wait for a copy by an event has finished it;
                    // the targets of all others are left alone until they are waited for.
                    let _ = unsafe { readback.finish() };
                }
                Err(error) => readback.give_up(&error.into()),
            }
        }
        self.readbacks.clear();
        self.callers.clear();
        self.staged = 0;
    }
}

impl Pooled for Stream {
    fn is_idle(&mut self) -> bool {
        // No copy has arrived in a lost context, so `synchronize` gives up its streams.
        let queried = self.context.enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { self.context.cu().cuStreamQuery(self.raw) };
            if code == CUresult::CUDA_ERROR_NOT_READY {
                return Ok(false);
            }
            let queried = self.context.check_progress("cuStreamQuery", code);
            queried.map(|()| true)
        });
        let is_idle = queried.unwrap_or(false);
        if is_idle {
            self.settle(&Ok(()));
        }
        is_idle
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The staging memory must outlive pending copies.
        let _ = self.synchronize();
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `new`, and no longer used.
            let code = unsafe { self.context.cu().cuStreamDestroy_v2(self.raw) };
            // Nothing else can be done about a failure.
            let _ = self.context.check("cuStreamDestroy", code);
        }
    }
}
