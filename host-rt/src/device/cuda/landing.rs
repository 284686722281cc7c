//! Copies from the device on the last bit of their way: out of a stream's staging memory.

use std::ptr::copy_nonoverlapping;
use std::sync::{Arc, Mutex};

use super::lock;
use crate::device::MappedMemory;

/// A copy whose bytes are in the staging memory when the stream gets there.
pub(super) struct Arriving {
    pub(super) to: *mut u8,
    pub(super) offset: usize,
    pub(super) len: usize,
}

// SAFETY: the pointer is the memory of the copy's caller, who leaves it alone until the copy
// has been waited for, on whatever thread that is.
unsafe impl Send for Arriving {}

/// What has arrived when a stream gets to some place.
pub(super) struct Landing {
    staging: Arc<MappedMemory>,
    copies: Mutex<Vec<Arriving>>,
}

impl Landing {
    pub(super) fn new(staging: &Arc<MappedMemory>, copies: Vec<Arriving>) -> Arc<Self> {
        Arc::new(Self {
            staging: Arc::clone(staging),
            copies: Mutex::new(copies),
        })
    }

    /// Brings the bytes to where they belong, the first time.
    ///
    /// # Safety
    /// The stream has got to the place. Nobody has waited for the copies before, unless
    /// this has been called then.
    pub(super) unsafe fn land(&self) {
        // Locked meanwhile: who comes second finds the bytes there.
        for Arriving { to, offset, len } in lock(&self.copies).drain(..) {
            // SAFETY: the range was given out by the stream, and the copy to it is done; `to`
            // is the copy's until it has been waited for, which is what happens here.
            unsafe { copy_nonoverlapping(self.staging.host.add(offset).as_ptr(), to, len) };
        }
    }

    /// Whether there is nothing left to bring.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.copies).is_empty()
    }

    /// The bytes will not come.
    pub(super) fn give_up(&self) {
        lock(&self.copies).clear();
    }
}
