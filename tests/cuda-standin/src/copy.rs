//! Copies. Device ranges are checked when a copy is queued; freeing memory before the copy runs
//! breaks the context.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use host_rt::device::{DeviceAddr, Queue};
use emu_driver::process::{lock, setting};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::with_context;
use crate::memory::Pinned;

/// The host's side of a copy.
enum Side {
    /// Copied when the copy was queued, like memory that the driver cannot read later.
    Staged(Vec<u8>),
    /// Read or written when the stream gets there.
    Pinned(Weak<Pinned>, u64),
    /// Written when the stream gets there, without keeping the memory allocated.
    Pageable(u64),
}

/// Delays a copy by a configurable time.
fn delay() {
    let delay = setting("REVOFF_STAND_IN_DELAY", 0);
    if delay > 0 {
        std::thread::sleep(Duration::from_micros(delay));
    }
}

/// The one copy engine of a context. It performs the copies of all streams in the order in which
/// they were queued; one that waits for a kernel delays all later ones.
#[derive(Default)]
pub(crate) struct Engine {
    /// Locked while a copy draws its ticket and is queued: within a stream, tickets are in order.
    order: Mutex<()>,
    queued: Mutex<Queued>,
    changed: Condvar,
}

#[derive(Default)]
struct Queued {
    next: u64,
    not_done: BTreeSet<u64>,
}

impl Engine {
    /// The ticket after all unfinished ones. `order` is locked.
    fn ticket(this: &Arc<Self>) -> Ticket {
        let mut queued = lock(&this.queued);
        let number = queued.next;
        queued.next += 1;
        queued.not_done.insert(number);
        Ticket {
            engine: Arc::clone(this),
            number,
        }
    }
}

/// A copy's place in the engine's order, until it is dropped.
struct Ticket {
    engine: Arc<Engine>,
    number: u64,
}

impl Ticket {
    /// Waits for its turn, unless the context breaks.
    fn wait(&self, is_broken: impl Fn() -> bool) {
        let mut queued = lock(&self.engine.queued);
        while queued.not_done.first() != Some(&self.number) && !is_broken() {
            // Breaking a context wakes no thread here.
            let tick = Duration::from_millis(10);
            let waited = self.engine.changed.wait_timeout(queued, tick);
            queued = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.engine.queued).not_done.remove(&self.number);
        self.engine.changed.notify_all();
    }
}

impl Context {
    /// Queues a copy with one side in a range of device memory.
    fn queue_copy(
        &self,
        stream: u64,
        range: (u64, usize),
        write: bool,
        work: impl FnOnce(&mut dyn Queue) -> Answer + Send + 'static,
    ) -> Answer {
        let _order = lock(&self.engine.order);
        let ticket = Engine::ticket(&self.engine);
        let progress = Arc::clone(&self.progress);
        self.queue_access(stream, range, write, move |queue| {
            ticket.wait(|| progress.broken().is_some());
            work(queue)
        })
    }

    /// Queues an access to a range of device memory.
    fn queue_access(
        &self,
        stream: u64,
        (address, len): (u64, usize),
        write: bool,
        work: impl FnOnce(&mut dyn Queue) -> Answer + Send + 'static,
    ) -> Answer {
        let stream = self.stream(stream)?;
        if len == 0 {
            return Ok(());
        }
        self.device_memory(address, len as u64, write)?;
        stream.queue(move |queue| {
            delay();
            work(queue)
        })
    }
}

/// # Safety
/// `from` is readable until `synchronize`, which follows.
unsafe fn write(queue: &mut dyn Queue, to: u64, from: *const u8, len: usize) -> Answer {
    let result = if len == 4 && to.is_multiple_of(4) {
        let mut word = [0; 4];
        // SAFETY: four bytes, by the caller's promise.
        unsafe { word.as_mut_ptr().copy_from_nonoverlapping(from, 4) };
        // A device thread that waits for it sees earlier copies.
        queue.store_word(DeviceAddr(to), u32::from_ne_bytes(word))
    } else {
        // SAFETY: the caller promises `len` readable bytes.
        unsafe { queue.copy_to_device(DeviceAddr(to), from, len) }
    };
    let result = result.and_then(|()| queue.synchronize());
    result.map_err(|_| Code::ILLEGAL_ADDRESS)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, len: usize, stream: u64) -> u32 {
    with_context("cuMemcpyHtoDAsync_v2", |context| {
        if from.is_null() && len > 0 {
            return Err(Code::INVALID_VALUE);
        }
        let side = match context.pinned(from.addr() as u64, len as u64) {
            Some(pinned) => Side::Pinned(Arc::downgrade(&pinned), from.addr() as u64),
            None => {
                let mut bytes = vec![0; len];
                if len > 0 {
                    // SAFETY: the driver's caller has `len` bytes there.
                    unsafe {
                        bytes
                            .as_mut_ptr()
                            .copy_from_nonoverlapping(from.cast(), len);
                    }
                }
                Side::Staged(bytes)
            }
        };
        context.queue_copy(stream, (to, len), true, move |queue| match side {
            // SAFETY: the bytes live until this is done.
            Side::Staged(bytes) => unsafe { write(queue, to, bytes.as_ptr(), len) },
            Side::Pinned(pinned, from) => {
                let _held = pinned.upgrade().ok_or(Code::ILLEGAL_ADDRESS)?;
                // SAFETY: the range lies in the memory that is held.
                unsafe { write(queue, to, from as *const u8, len) }
            }
            Side::Pageable(_) => unreachable!("a source is pinned or staged"),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, len: usize, stream: u64) -> u32 {
    with_context("cuMemcpyDtoHAsync_v2", |context| {
        if to.is_null() && len > 0 {
            return Err(Code::INVALID_VALUE);
        }
        let to = to.expose_provenance() as u64;
        let side = match context.pinned(to, len as u64) {
            Some(pinned) => Side::Pinned(Arc::downgrade(&pinned), to),
            None => Side::Pageable(to),
        };
        context.queue_copy(stream, (from, len), false, move |queue| {
            let (_held, to) = match side {
                Side::Pinned(pinned, to) => {
                    (Some(pinned.upgrade().ok_or(Code::ILLEGAL_ADDRESS)?), to)
                }
                Side::Pageable(to) => (None, to),
                Side::Staged(_) => unreachable!("a target is pinned or pageable"),
            };
            // SAFETY: the driver's caller has `len` bytes there that it leaves alone until the
            // stream is done, or they lie in held memory.
            let copied = unsafe { queue.copy_from_device(to as *mut u8, DeviceAddr(from), len) };
            let copied = copied.and_then(|()| queue.synchronize());
            copied.map_err(|_| Code::ILLEGAL_ADDRESS)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: u64) -> u32 {
    with_context("cuMemcpyDtoDAsync_v2", |context| {
        if len > 0 {
            context.device_memory(from, len as u64, false)?;
        }
        context.queue_copy(stream, (to, len), true, move |queue| {
            let copied = queue.copy_on_device(DeviceAddr(to), DeviceAddr(from), len);
            copied.map_err(|_| Code::ILLEGAL_ADDRESS)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(to: u64, byte: u8, len: usize, stream: u64) -> u32 {
    with_context("cuMemsetD8Async", |context| {
        context.queue_access(stream, (to, len), true, move |queue| {
            let bytes = vec![byte; len.min(1 << 16)];
            (0..len).step_by(bytes.len()).try_for_each(|at| {
                let len = bytes.len().min(len - at);
                // SAFETY: the bytes live until this is done.
                unsafe { write(queue, to + at as u64, bytes.as_ptr(), len) }
            })
        })
    })
}
