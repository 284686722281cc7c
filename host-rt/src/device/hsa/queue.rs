//! Queues: a stream each, whose copies go through blocks of pinned memory.

use std::ptr::copy_nonoverlapping;
use std::sync::Arc;

use super::blocks::{Block, PIECE};
use super::event::HsaEvent;
use super::stream::{Readback, Stream};
use super::{HsaDevice, launch};
use crate::device::bounds::check_word;
use crate::device::gpu::readback::{Arrival, PendingCopy};
use crate::device::{
    DeviceAddr, DeviceError, Event, Fault, Fill, Global, Grid, LaunchContext, Module, Params,
    Queue, Running,
};

/// The most bytes of a copy within the device for a kernel that waits: an engine makes it, if there are engines.
pub(super) const WITHIN: usize = 512 << 10;

/// A queue.
pub(super) struct HsaQueue {
    /// Taken by the drop.
    stream: Option<Stream>,
    device: Arc<HsaDevice>,
    /// The reason why new operations are rejected.
    failed: Option<Fault>,
}

impl HsaQueue {
    /// A queue of `device`, in `stream`.
    pub(super) fn new(device: Arc<HsaDevice>, stream: Stream) -> Self {
        Self {
            stream: Some(stream),
            device,
            failed: None,
        }
    }

    fn stream(&mut self) -> &mut Stream {
        match &mut self.stream {
            Some(stream) => stream,
            None => unreachable!("the stream is taken by the drop alone"),
        }
    }

    /// Rejects operations after a failure.
    fn check(&self) -> Result<(), DeviceError> {
        self.device.context.check_lost()?;
        match self.failed.clone() {
            Some(reason) => Err(DeviceError::DependencyFailed { reason }),
            None => Ok(()),
        }
    }

    fn check_range(&self, address: DeviceAddr, len: usize) -> Result<(), DeviceError> {
        self.device.memory.check_range(address, len as u64)
    }

    /// Queues a copy of a block's first bytes to device memory.
    ///
    /// # Safety
    /// The range at `to` is valid until the copy is done, and the block is as long.
    unsafe fn copy_block(
        &mut self,
        to: DeviceAddr,
        block: Arc<Block>,
        len: usize,
    ) -> Result<(), DeviceError> {
        let (agent, host) = (self.device.context.agent, self.device.context.host);
        let from = block.at.as_ptr().expose_provenance() as u64;
        // SAFETY: the caller's promise; the block is held.
        unsafe {
            self.stream()
                .copy((to.0, agent), (from, host), len, Some(block), None)
        }
    }

    /// Queues a copy of `len` bytes in pieces, given by start and length. If one is rejected, those
    /// before it are waited for: the failed copy is then no longer pending, and its memory may be
    /// freed.
    fn in_pieces(
        &mut self,
        len: u64,
        mut copy: impl FnMut(&mut Self, u64, usize) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        for (queued, at) in (0..len).step_by(PIECE).enumerate() {
            let piece = (len - at).min(PIECE as u64) as usize;
            let room = self.stream().make_room(piece);
            if let Err(error) = room.and_then(|()| copy(self, at, piece)) {
                if queued > 0 {
                    self.stream().give_up_readbacks(queued, &error);
                    // The first error is reported.
                    let _ = self.stream().synchronize();
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Zeroes newly allocated memory by the copy engines. A kernel would wait for kernels that wait
    /// for the host, if they fill the device.
    fn zero(&mut self, address: DeviceAddr, bytes: u64) -> Result<(), DeviceError> {
        let piece = bytes.min(PIECE as u64) as usize;
        let zeros = Arc::new(self.device.blocks.take(piece)?);
        // SAFETY: the block has this size, and nothing else uses it yet.
        unsafe { zeros.at.write_bytes(0, piece) };
        self.in_pieces(bytes, |queue, at, len| {
            // SAFETY: the memory is allocated, and the block is not shorter.
            unsafe { queue.copy_block(address + at, Arc::clone(&zeros), len) }
        })
    }
}

impl Queue for HsaQueue {
    fn alloc(&mut self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        self.check()?;
        let address = self.device.memory.alloc(bytes)?;
        if fill == Fill::Zeros
            && let Err(error) = self.zero(address, bytes)
        {
            self.device.memory.free(address);
            return Err(error);
        }
        Ok(address)
    }

    unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check()?;
        self.check_range(to, len)?;
        self.in_pieces(len as u64, |queue, at, piece| {
            let block = queue.device.blocks.take(piece)?;
            // SAFETY: the caller vouches for `from`; the block has this size, and nothing else uses
            // it.
            unsafe { copy_nonoverlapping(from.add(at as usize), block.at.as_ptr(), piece) };
            // SAFETY: the device's range was checked.
            unsafe { queue.copy_block(to + at, Arc::new(block), piece) }
        })
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check()?;
        self.check_range(from, len)?;
        let (agent, host) = (self.device.context.agent, self.device.context.host);
        self.in_pieces(len as u64, |queue, at, piece| {
            let block = Arc::new(queue.device.blocks.take(piece)?);
            let bytes = block.at.as_ptr().expose_provenance() as u64;
            let readback = Readback::new(vec![PendingCopy {
                staged: Arc::clone(&block),
                at: block.at,
                // SAFETY: `to` has at least this many bytes.
                to: unsafe { to.add(at as usize) },
                len: piece,
            }]);
            let (to, from) = ((bytes, host), (from.0 + at, agent));
            let stream = queue.stream();
            // SAFETY: the device's range was checked; the stream holds the block.
            unsafe { stream.copy(to, from, piece, Some(block), Some(readback)) }
        })
    }

    fn copy_on_device(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check()?;
        self.check_range(to, len)?;
        self.check_range(from, len)?;
        let agent = self.device.context.agent;
        // SAFETY: both ranges were checked.
        unsafe {
            self.stream()
                .copy((to.0, agent), (from.0, agent), len, None, None)
        }
    }

    /// By the copy engines, where there are some (see `engines`).
    fn copy_beside_kernels(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        // All of the ranges: pieces alone might lie in several allocations.
        self.check_range(to, len)?;
        self.check_range(from, len)?;
        (0..len as u64).step_by(WITHIN).try_for_each(|at| {
            let piece = (len - at as usize).min(WITHIN);
            self.copy_on_device(to + at, from + at, piece)
        })
    }

    fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError> {
        check_word(to)?;
        // Edge `R2`, completing end, for callers whose word is in device memory. The copy waits for
        // the ones before it, so their bytes have arrived, and an aligned word is one access of the
        // copy engine.
        //
        // SAFETY: the word is copied to a block at once.
        unsafe { self.copy_to_device(to, (&raw const word).cast(), 4) }
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        self.check()?;
        let device = Arc::clone(&self.device);
        // SAFETY: the caller of `Queue::launch` vouches for the kernel and its parameters.
        unsafe {
            launch::start(
                &device,
                self.stream(),
                module,
                kernel,
                grid,
                params,
                context,
            )
        }
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        let (signals, readbacks) = self.stream().place();
        Arc::new(HsaEvent {
            signals,
            arrival: Arrival {
                readbacks,
                failed: self.failed.clone(),
            },
        })
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        if self.can_wait_for(&**event)
            && let Some(event) = event.downcast_ref::<HsaEvent>()
        {
            match &event.arrival.failed {
                Some(reason) => {
                    self.failed.get_or_insert_with(|| reason.clone());
                }
                None => self.stream().wait_for(&event.signals),
            }
        } else if let Err(reason) = event.sync() {
            self.failed.get_or_insert(reason);
        }
    }

    /// The host waits for events of another GPU: if that GPU is lost, its signals never change, and
    /// this one would not learn of it.
    fn can_wait_for(&self, event: &dyn Event) -> bool {
        let event = event.downcast_ref::<HsaEvent>();
        event.is_some_and(|event| {
            let mut signals = event.signals.iter();
            signals.all(|signal| signal.is_of(&self.device.context))
        })
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let synchronized = self.stream().synchronize();
        // Checked after the copies: if another thread has found the device lost and has given up
        // pending copies to the host, they have not arrived.
        let failed = self.check();
        self.failed = None;
        synchronized.and(failed)
    }
}

impl Drop for HsaQueue {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.device.streams.put(stream);
        }
    }
}
