//! Queues whose operations happen at once, on memory that the host reaches itself:
//! those of devices that are this process.

use std::sync::Arc;

use shared_abi::words::{Coherent, Store, SystemWords};

use super::Event;
use crate::error::DeviceError;

/// What the next operation of a queue has to wait for.
#[derive(Default)]
pub(super) struct After(Vec<Arc<dyn Event>>);

impl After {
    /// Waits for all of it.
    pub(super) fn catch_up(&mut self) {
        for event in self.0.drain(..) {
            event.wait();
        }
    }

    /// Leaves it to somebody else to wait.
    pub(super) fn take(&mut self) -> Vec<Arc<dyn Event>> {
        std::mem::take(&mut self.0)
    }

    pub(super) fn push(&mut self, event: Arc<dyn Event>) {
        self.0.push(event);
    }

    /// An event that is reached when all of it is.
    pub(super) fn record(&mut self) -> Arc<dyn Event> {
        self.0.retain(|event| !event.is_done());
        Arc::new(AllOf(self.0.clone()))
    }
}

/// A place in a queue.
struct AllOf(Vec<Arc<dyn Event>>);

impl Event for AllOf {
    fn is_done(&self) -> bool {
        self.0.iter().all(|event| event.is_done())
    }

    fn wait(&self) {
        for event in &self.0 {
            event.wait();
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The words around a place, and its offset in them.
///
/// # Safety
/// As for [`Coherent::new`], for as many bytes from the offset on as are used.
unsafe fn words_at(place: *mut u8) -> (Coherent, usize) {
    // SAFETY: passed on; aligned to 8 bytes.
    let words = unsafe { Coherent::new(place.map_addr(|address| address & !7)) };
    (words, place.addr() & 7)
}

/// Copies to a place in device memory. Device threads may use it meanwhile, which atomic
/// accesses here make a matter of theirs.
///
/// # Safety
/// Both ranges are there: the one at `from` unwritten, that at `place` used by others with
/// atomic accesses only.
pub(super) unsafe fn write(place: *mut u8, from: *const u8, len: usize) {
    // SAFETY: passed on.
    unsafe {
        let (words, offset) = words_at(place);
        words.write_bytes(offset, from, len);
    }
}

/// Copies from a place in device memory.
///
/// # Safety
/// Both ranges are there: the one at `to` nobody else's, that at `place` used by others
/// with atomic accesses only.
pub(super) unsafe fn read(to: *mut u8, place: *mut u8, len: usize) {
    // SAFETY: passed on.
    unsafe {
        let (words, offset) = words_at(place);
        words.read_bytes(offset, to, len);
    }
}

/// Stores a word in one piece at a place in device memory, which is `address` there.
///
/// # Safety
/// There are 4 bytes at `place`, used by others with atomic accesses only.
///
/// # Errors
/// It is misaligned.
pub(super) unsafe fn store_word(
    place: *mut u8,
    address: u64,
    word: u32,
) -> Result<(), DeviceError> {
    if !address.is_multiple_of(4) {
        return Err(DeviceError::Unreachable {
            address,
            len: 4,
            what: "not aligned for a word",
        });
    }
    // SAFETY: passed on; aligned.
    let (words, offset) = unsafe { words_at(place) };
    // Edge `R2`, completing end, for callers whose word is in device memory.
    words.store32(offset, word, Store::Release);
    Ok(())
}
