//! Queues: a stream each, whose copies go through blocks of shared memory.

use std::ptr::copy_nonoverlapping;
use std::sync::Arc;

use super::event::HsaEvent;
use super::landing::Landing;
use super::memory::unreachable;
use super::stream::Stream;
use super::{HsaDevice, launch};
use crate::device::{Event, Global, Grid, LaunchContext, Module, Queue, Running};
use crate::error::DeviceError;

/// A queue.
pub(super) struct HsaQueue {
    /// Taken by the drop.
    stream: Option<Stream>,
    device: Arc<HsaDevice>,
    /// Why what is queued from now on is not to be done.
    failed: Option<String>,
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

    /// Refuses what would come behind a failure.
    fn check(&self) -> Result<(), DeviceError> {
        self.device.context.check_lost()?;
        match self.failed.clone() {
            Some(reason) => Err(DeviceError::Before { reason }),
            None => Ok(()),
        }
    }

    fn check_range(&self, address: u64, len: usize) -> Result<(), DeviceError> {
        self.device.memory.check_range(address, len as u64)
    }
}

impl Queue for HsaQueue {
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check()?;
        self.check_range(to, len)?;
        let (agent, host) = (self.device.context.agent, self.device.context.host);
        let block = self.device.blocks.take(len)?;
        // SAFETY: the caller vouches for `from`; the block is as long, and ours alone.
        unsafe { copy_nonoverlapping(from, block.at.as_ptr(), len) };
        let bytes = block.at.as_ptr().expose_provenance() as u64;
        // SAFETY: the device's range has been looked at; the block is held.
        unsafe {
            self.stream()
                .copy((to, agent), (bytes, host), len, Some(Arc::new(block)))
        }
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check()?;
        self.check_range(from, len)?;
        let (agent, host) = (self.device.context.agent, self.device.context.host);
        let block = self.device.blocks.take(len)?;
        let bytes = block.at.as_ptr().expose_provenance() as u64;
        let (block, stream) = (Arc::new(block), self.stream());
        let held = Some(Arc::clone(&block));
        // SAFETY: the device's range has been looked at; the block is held.
        unsafe { stream.copy((bytes, host), (from, agent), len, held)? };
        stream.lands(Landing::new(block, to, len));
        Ok(())
    }

    fn copy_on_device(&mut self, to: u64, from: u64, len: usize) -> Result<(), DeviceError> {
        if len == 0 {
            return Ok(());
        }
        self.check()?;
        self.check_range(to, len)?;
        self.check_range(from, len)?;
        let agent = self.device.context.agent;
        // SAFETY: both ranges have been looked at.
        unsafe { self.stream().copy((to, agent), (from, agent), len, None) }
    }

    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError> {
        if !to.is_multiple_of(4) {
            return Err(unreachable(to, 4, "not aligned for a word"));
        }
        // Edge `R2`, completing end, for callers whose word is in device memory. The copy
        // waits for those before it, so what they copied has arrived, and an aligned word is
        // one access of the copy engine.
        //
        // SAFETY: the word is copied to a block at once.
        unsafe { self.copy_to_device(to, (&raw const word).cast(), 4) }
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        self.check()?;
        let device = Arc::clone(&self.device);
        // SAFETY: passed on.
        let launch = unsafe {
            launch::start(
                &device,
                self.stream(),
                module,
                kernel,
                grid,
                params,
                context,
            )?
        };
        Ok(launch)
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        if let Some(reason) = self.failed.clone() {
            return Arc::new(HsaEvent::failed(reason));
        }
        let (signals, landings) = self.stream().place();
        Arc::new(HsaEvent::new(signals, landings))
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        if self.can_wait_for(&**event)
            && let Some(event) = event.as_any().downcast_ref::<HsaEvent>()
        {
            match event.reason() {
                Some(reason) => {
                    self.failed.get_or_insert_with(|| reason.clone());
                }
                None => self.stream().wait_for(&event.signals),
            }
        } else if let Err(reason) = event.sync() {
            self.failed.get_or_insert(reason);
        }
    }

    /// Those of another GPU are waited for by the host: if that one is lost, its signals never
    /// change, and nobody would tell this one.
    fn can_wait_for(&self, event: &dyn Event) -> bool {
        let event = event.as_any().downcast_ref::<HsaEvent>();
        event.is_some_and(|event| {
            let mut signals = event.signals.iter();
            signals.all(|signal| signal.is_of(&self.device.context))
        })
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let failed = self.check();
        self.failed = None;
        self.stream().synchronize().and(failed)
    }
}

impl Drop for HsaQueue {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.device.streams.put(stream);
        }
    }
}
