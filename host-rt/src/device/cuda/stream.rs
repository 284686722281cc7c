//! Streams, and the pinned memory that each has for small copies.

use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUstream, CUstream_flags};

use super::context::Context;
use super::{lock, memory};
use crate::device::MappedMemory;
use crate::error::DeviceError;

/// Pinned memory of a queue. Copies that are larger than what is left of it until
/// [`Queue::synchronize`] go through the driver's own.
pub(super) const STAGING: usize = 256 << 10;

/// A stream that waits for no other, and its staging memory. Made before kernels
/// run and used again: to make one may make the driver wait for the device.
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: CUstream,
    pub(super) staging: MappedMemory,
}

// SAFETY: streams may be used by any thread; `&mut` of the queue keeps it to one.
unsafe impl Send for Stream {}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let staging = memory::mapped(context, STAGING)?;
        let _entered = context.enter()?;
        let mut raw = null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the function writes the handle.
        let code = unsafe { sys::cuStreamCreate(&raw mut raw, flags) };
        context.check("cuStreamCreate", code)?;
        Ok(Self {
            context: Arc::clone(context),
            raw,
            staging,
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `new`, and nobody else's.
            let code = unsafe { sys::cuStreamDestroy_v2(self.raw) };
            // Nothing is left to be done about it.
            let _ = self.context.check("cuStreamDestroy", code);
        }
    }
}

/// Streams that wait to be used again.
#[derive(Default)]
pub(super) struct Streams(Mutex<Vec<Stream>>);

impl Streams {
    /// A stream, of those that wait if there is one.
    pub(super) fn take(&self, context: &Arc<Context>) -> Result<Stream, DeviceError> {
        let waiting = lock(&self.0).pop();
        waiting.map_or_else(|| Stream::new(context), Ok)
    }

    /// Keeps a stream in which nothing is under way that uses its staging memory.
    pub(super) fn put(&self, stream: Stream) {
        lock(&self.0).push(stream);
    }
}
