//! Blocks of the host's memory that the GPU reads and writes: arguments of kernels, and staged
//! bytes of copies. They are reused, since allocation is slow.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use super::context::{Context, DeferredFree};
use crate::base::lock::{lock, take};
use crate::device::DeviceError;

/// The smallest block, and its alignment, which is more than kernels need.
const MIN_SIZE: usize = 256;

/// The maximum size of one staged copy: longer ones are split.
pub(super) const PIECE: usize = 1 << 20;

/// The largest block that is kept for reuse: copies use no larger ones.
const MAX_KEPT_SIZE: usize = PIECE;

/// The maximum number of kept blocks per size, and of their bytes.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 4 << 20;

/// The blocks of a device.
pub(super) struct Blocks {
    context: Arc<Context>,
    /// Addresses by size.
    waiting: Mutex<BTreeMap<usize, Vec<u64>>>,
}

/// A block, which its owner uses alone with its queued operations.
pub(super) struct Block {
    blocks: Arc<Blocks>,
    pub(super) at: NonNull<u8>,
    size: usize,
}

// SAFETY: it is an allocation, which its owner uses alone.
unsafe impl Send for Block {}
// SAFETY: only an address is shared; each access of the memory has its own argument.
unsafe impl Sync for Block {}

impl Blocks {
    pub(super) fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            waiting: Mutex::default(),
        })
    }

    /// A block of at least `bytes`, with unspecified contents.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Result<Block, DeviceError> {
        let no_memory = || DeviceError::NoMappedMemory {
            device: self.context.name().to_owned(),
            bytes: bytes as u64,
        };
        let size = bytes.max(MIN_SIZE).checked_next_power_of_two();
        // Blocks that are not kept need no standard size.
        let size = match size.ok_or_else(no_memory)? {
            kept @ ..=MAX_KEPT_SIZE => kept,
            _ => bytes,
        };
        let waiting = lock(&self.waiting).get_mut(&size).and_then(Vec::pop);
        let at = match waiting {
            Some(address) => address as *mut u8,
            None => {
                let memory = self
                    .context
                    .alloc_pinned(self.context.pools.kernarg, size)
                    .map_err(|error| error.unwrap_or_else(no_memory))?;
                memory.cast()
            }
        };
        Ok(Block {
            blocks: Arc::clone(self),
            at: NonNull::new(at).ok_or_else(no_memory)?,
            size,
        })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let address = self.at.as_ptr().expose_provenance() as u64;
        if self.size <= MAX_KEPT_SIZE {
            let mut waiting = lock(&self.blocks.waiting);
            let waiting = waiting.entry(self.size).or_default();
            if waiting.len() < MAX_KEPT.min(MAX_KEPT_BYTES / self.size) {
                waiting.push(address);
                return;
            }
        }
        // SAFETY: the last owner of the block has dropped it, after its queued operations.
        let memory = unsafe { DeferredFree::memory(address) };
        self.blocks.context.give_back(memory);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for address in take(&self.waiting).into_values().flatten() {
            // SAFETY: taken off the list, which has only unused blocks.
            self.context
                .give_back(unsafe { DeferredFree::memory(address) });
        }
    }
}
