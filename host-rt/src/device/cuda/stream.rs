//! Streams, and the pinned memory that each has for small copies.

use std::collections::VecDeque;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUresult, CUstream, CUstream_flags};

use super::context::Context;
use super::landing::{Arriving, Landing};
use super::{lock, memory};
use crate::device::MappedMemory;
use crate::error::DeviceError;

/// Pinned memory of a queue. Copies that are larger than what is left of it until
/// [`Queue::synchronize`](crate::device::Queue::synchronize) go through the driver's own.
pub(super) const STAGING: usize = 256 << 10;

/// Alignment of copies in the staging memory: those of words are one access.
const STAGING_ALIGN: usize = 16;

/// Streams of a device, beyond those that queues hold at a time. GPUs run as many kernels
/// at a time. Source: the CUDA C++ programming guide, "Maximum number of resident grids per
/// device".
const MOST: usize = 128;

/// A stream that waits for no other, and its staging memory. Made before kernels
/// run and used again: to make one may make the driver wait for the device.
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: CUstream,
    staging: Arc<MappedMemory>,
    /// Bytes of the staging memory that are in use.
    staged: usize,
    /// Copies in the staging memory behind which no event was recorded yet, and the others.
    arriving: Vec<Arriving>,
    landings: Vec<Arc<Landing>>,
}

// SAFETY: streams may be used by any thread; `&mut` of the queue keeps it to one.
unsafe impl Send for Stream {}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let staging = Arc::new(memory::mapped(context, STAGING)?);
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
            staged: 0,
            arriving: Vec::new(),
            landings: Vec::new(),
        })
    }

    /// The staging memory.
    pub(super) fn staging(&self) -> NonNull<u8> {
        self.staging.host
    }

    /// Whether there is no room for `len` more bytes, which are few, in the staging memory.
    pub(super) fn is_full_for(&self, len: usize) -> bool {
        self.staged + STAGING_ALIGN + len > STAGING
    }

    /// Room for `len` bytes in the staging memory, if there is so much.
    pub(super) fn stage(&mut self, len: usize) -> Option<(usize, NonNull<u8>)> {
        let offset = self.staged.next_multiple_of(STAGING_ALIGN);
        let end = offset.checked_add(len).filter(|&end| end <= STAGING)?;
        self.staged = end;
        // SAFETY: `end` is within the memory.
        Some((offset, unsafe { self.staging.host.add(offset) }))
    }

    /// A copy was queued, to be brought from the staging memory to where it belongs.
    pub(super) fn arrives(&mut self, copy: Arriving) {
        self.arriving.push(copy);
    }

    /// What will have arrived at the place in the stream behind all copies so far.
    pub(super) fn landings(&mut self) -> Vec<Arc<Landing>> {
        self.landings.retain(|landing| !landing.is_over());
        if !self.arriving.is_empty() {
            let copies = std::mem::take(&mut self.arriving);
            self.landings.push(Landing::new(&self.staging, copies));
        }
        self.landings.clone()
    }

    /// Whether nothing is under way, as far as anybody can tell.
    fn is_idle(&self) -> bool {
        let Ok(_entered) = self.context.enter() else {
            return true;
        };
        // SAFETY: the handle is alive.
        let code = unsafe { sys::cuStreamQuery(self.raw) };
        if code == CUresult::CUDA_ERROR_NOT_READY {
            return false;
        }
        self.context.check_progress("cuStreamQuery", code).is_ok()
    }

    /// Waits until nothing is under way, and brings what has arrived to its place.
    pub(super) fn synchronize(&mut self) -> Result<(), DeviceError> {
        let synchronized = self.context.enter().and_then(|_entered| {
            // SAFETY: the handle is alive.
            let code = unsafe { sys::cuStreamSynchronize(self.raw) };
            self.context.check_progress("cuStreamSynchronize", code)
        });
        self.settle(synchronized.is_ok());
        synchronized
    }

    /// Nothing is under way any more: everything has arrived, or nothing ever will.
    fn settle(&mut self, has_arrived: bool) {
        for landing in self.landings() {
            if has_arrived {
                // SAFETY: the stream has got to its end. Who waited for a copy by an event
                // had it landed; all others leave its target alone until they wait.
                unsafe { landing.land() };
            } else {
                landing.give_up();
            }
        }
        self.landings.clear();
        self.staged = 0;
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
pub(super) struct Streams(Mutex<Pool>);

#[derive(Default)]
struct Pool {
    /// Those in which nothing is under way.
    idle: Vec<Stream>,
    /// Those in which something was when they were last looked at. The one that was given
    /// back first comes first.
    busy: VecDeque<Stream>,
    /// How many were shared since all were looked at.
    shared: usize,
    /// With those that queues hold.
    count: usize,
}

impl Pool {
    /// Looks at all in which something was under way.
    fn sweep(&mut self) {
        self.shared = 0;
        for stream in std::mem::take(&mut self.busy) {
            self.keep(stream);
        }
    }

    fn keep(&mut self, mut stream: Stream) {
        if stream.is_idle() {
            stream.settle(true);
            self.idle.push(stream);
        } else {
            self.busy.push_back(stream);
        }
    }

    /// One in which nothing is under way, if there is one.
    fn take_idle(&mut self) -> Option<Stream> {
        if self.idle.is_empty() {
            self.sweep();
        }
        self.idle.pop()
    }

    /// One that was given back, whatever is under way in it.
    fn take_any(&mut self) -> Option<Stream> {
        // To look at all of them takes longer than a launch, so it is done once a round.
        if self.idle.is_empty() && self.shared >= self.busy.len() {
            self.sweep();
        }
        self.shared += 1;
        self.idle.pop().or_else(|| self.busy.pop_front())
    }

    /// Those that are more than are kept, as far as they are known to be idle.
    fn take_beyond(&mut self) -> Vec<Stream> {
        let mut beyond = Vec::new();
        while self.count > MOST
            && let Some(stream) = self.idle.pop()
        {
            self.count -= 1;
            beyond.push(stream);
        }
        beyond
    }
}

impl Streams {
    /// A stream in which nothing is under way.
    pub(super) fn take(&self, context: &Arc<Context>) -> Result<Stream, DeviceError> {
        let mut pool = lock(&self.0);
        if let Some(stream) = pool.take_idle() {
            return Ok(stream);
        }
        pool.count += 1;
        drop(pool);
        Stream::new(context).inspect_err(|_| lock(&self.0).count -= 1)
    }

    /// A stream in which something may be under way, if there are many.
    pub(super) fn take_shared(&self, context: &Arc<Context>) -> Result<Stream, DeviceError> {
        let mut pool = lock(&self.0);
        let shared = (pool.count >= MOST).then(|| pool.take_any()).flatten();
        drop(pool);
        match shared {
            Some(stream) => Ok(stream),
            None => self.take(context),
        }
    }

    /// Keeps a stream. What is under way in it goes on, with its staging memory.
    pub(super) fn put(&self, mut stream: Stream) {
        // What nobody has recorded an event behind, nobody waits for.
        stream.arriving.clear();
        let mut pool = lock(&self.0);
        pool.keep(stream);
        let beyond = pool.take_beyond();
        drop(pool);
        // With the driver, outside the lock.
        drop(beyond);
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // Their staging memory must outlive what is under way.
        for stream in &mut lock(&self.0).busy {
            let _ = stream.synchronize();
        }
    }
}
