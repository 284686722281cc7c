//! Copies from the device on the last bit of their way: out of a block.

use std::ptr::copy_nonoverlapping;
use std::sync::{Arc, Mutex};

use super::blocks::Block;
use crate::lock::lock;

/// What has arrived when a copy is done.
pub(super) struct Landing(Mutex<Option<Arriving>>);

struct Arriving {
    block: Arc<Block>,
    to: *mut u8,
    len: usize,
}

// SAFETY: the pointer is the memory of the copy's caller, who leaves it alone until the copy
// has been waited for, on whatever thread that is.
unsafe impl Send for Arriving {}

impl Landing {
    /// `len` bytes in `block`, on their way to `to`.
    pub(super) fn new(block: Arc<Block>, to: *mut u8, len: usize) -> Self {
        Self(Mutex::new(Some(Arriving { block, to, len })))
    }

    /// Brings the bytes to where they belong, the first time.
    ///
    /// # Safety
    /// The copy to the block is done. Nobody has waited for it before, unless this has been
    /// called then.
    pub(super) unsafe fn land(&self) {
        // Locked meanwhile: who comes second finds the bytes there.
        let mut arriving = lock(&self.0);
        if let Some(Arriving { block, to, len }) = arriving.take() {
            // SAFETY: the block has so many bytes; `to` is the copy's until it has been waited
            // for, which is what happens here.
            unsafe { copy_nonoverlapping(block.at.as_ptr(), to, len) };
        }
    }
}
