//! Device memory and pinned memory.

use std::ptr::NonNull;
use std::sync::Arc;

use emu_driver::fill::soil;
use emu_driver::process::lock;
use ptx_emu::Memory;

use super::Context;
use super::gpu::Gpu;
use crate::code::{Answer, Code};

/// Device memory.
pub(crate) struct Block {
    pub(crate) size: u64,
    /// Allocated in a stream, and therefore freed there.
    pub(crate) of_stream: bool,
}

/// What pinned memory was allocated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinnedKind {
    /// For the host, with these flags.
    Host(u32),
    /// For both sides.
    Managed,
}

/// Memory of the host that other GPUs reach, too, until this is dropped.
#[derive(Default)]
pub(crate) struct MappedElsewhere {
    memories: Vec<Arc<Memory>>,
    address: u64,
}

impl MappedElsewhere {
    /// Maps a range on other GPUs.
    ///
    /// # Safety
    /// The range stays valid until the result is dropped, and is accessed meanwhile as device memory is:
    /// atomically, or ordered with the accesses of kernels.
    pub(crate) unsafe fn on(gpus: &[Arc<Gpu>], host: NonNull<u8>, bytes: u64) -> Self {
        let memories = gpus.iter().map(|gpu| gpu.machine.memory());
        // SAFETY: the caller's promise.
        let mapped = memories.filter(|memory| unsafe { memory.register(host, bytes) });
        Self {
            memories: mapped.cloned().collect(),
            address: host.as_ptr().expose_provenance() as u64,
        }
    }
}

impl Drop for MappedElsewhere {
    fn drop(&mut self) {
        for memory in &self.memories {
            memory.unregister(self.address);
        }
    }
}

/// Pinned memory.
pub(crate) struct Pinned {
    elsewhere: MappedElsewhere,
    memory: Arc<Memory>,
    pub(crate) host: NonNull<u8>,
    /// The device's address.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: PinnedKind,
}

// SAFETY: `host` is memory that this owns and that all threads may use.
unsafe impl Send for Pinned {}
// SAFETY: the bytes are accessed through raw pointers alone, atomically.
unsafe impl Sync for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        // First, since the memory may be another's afterwards.
        self.elsewhere = MappedElsewhere::default();
        self.memory.free(self.address);
    }
}

impl Context {
    pub(crate) fn alloc(&self, bytes: usize, of_stream: bool) -> Answer<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let (memory, size) = (self.gpu.machine.memory(), bytes as u64);
        let address = memory.alloc(size).ok_or(Code::OUT_OF_MEMORY)?;
        if let Some(host) = memory.host(address, size) {
            // SAFETY: the block has that many bytes and is not shared yet.
            unsafe { soil(host.as_ptr(), bytes) };
        }
        let block = Block { size, of_stream };
        lock(&self.owned).blocks.insert(address, block);
        Ok(address)
    }

    /// Allocates pinned memory, which `others` reach, too.
    pub(crate) fn alloc_pinned(
        &self,
        bytes: usize,
        kind: PinnedKind,
        others: &[Arc<Gpu>],
    ) -> Answer<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let (memory, size) = (self.gpu.machine.memory(), bytes as u64);
        let (host, address) = memory.alloc_mapped(size).ok_or(Code::OUT_OF_MEMORY)?;
        if self.gpu.is_strict {
            // SAFETY: the memory has that many bytes and is not shared yet.
            unsafe { soil(host.as_ptr(), bytes) };
        }
        // SAFETY: `Pinned` keeps the memory, and unmaps it before it frees it; copies and kernels access it
        // as that of this GPU.
        let elsewhere = unsafe { MappedElsewhere::on(others, host, size) };
        let pinned = Arc::new(Pinned {
            elsewhere,
            memory: Arc::clone(memory),
            host,
            address,
            bytes: size,
            kind,
        });
        lock(&self.owned).pinned.insert(address, pinned);
        Ok(address)
    }

    /// The start and size of the device memory that contains the range: a block, or a variable.
    pub(crate) fn device_memory(&self, address: u64, len: u64) -> Option<(u64, u64)> {
        let owned = lock(&self.owned);
        if let Some((&start, block)) = owned.blocks.range(..=address).next_back()
            && (address - start)
                .checked_add(len)
                .is_some_and(|end| end <= block.size)
        {
            return Some((start, block.size));
        }
        // Most addresses that are in no block are in no variable either.
        self.gpu.machine.memory().host(address, len)?;
        let mut modules = owned.all_modules();
        modules.find_map(|module| {
            let variable = module.code.variable_around(address, len)?;
            Some((variable.address, variable.bytes))
        })
    }
}
