//! Device memory and pinned memory.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

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

/// The purpose of pinned memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinnedKind {
    /// For the host, with these flags.
    Host(u32),
    /// For both sides.
    Managed,
}

/// Memory of the host that other GPUs reach, too, until this is dropped.
#[derive(Default)]
pub(crate) struct PeerMappings {
    memories: Vec<Arc<Memory>>,
    address: u64,
}

impl PeerMappings {
    /// Maps a range on other GPUs. Those on which it overlaps memory that is mapped already do not reach it.
    ///
    /// # Safety
    /// The range stays valid until the result is dropped, and is accessed meanwhile as device memory is:
    /// atomically, or ordered with the accesses of kernels.
    pub(crate) unsafe fn map(gpus: &[Arc<Gpu>], host: NonNull<u8>, bytes: u64) -> Self {
        let address = host.as_ptr().expose_provenance() as u64;
        let is_mapped = |gpu: &&Arc<Gpu>| {
            // SAFETY: the caller's promise.
            let is_mapped = unsafe { gpu.machine.memory().register(host, bytes) };
            if !is_mapped {
                tracing::warn!(
                    gpu = gpu.number,
                    "{bytes} bytes of the host at {address:#x} were not mapped on this GPU: they overlap memory \
                     that is mapped there"
                );
            }
            is_mapped
        };
        let mapped = gpus.iter().filter(is_mapped);
        Self {
            memories: mapped.map(|gpu| Arc::clone(gpu.machine.memory())).collect(),
            address,
        }
    }

    fn include(&self, memory: &Arc<Memory>) -> bool {
        self.memories.iter().any(|other| Arc::ptr_eq(other, memory))
    }
}

impl Drop for PeerMappings {
    fn drop(&mut self) {
        for memory in &self.memories {
            memory.unregister(self.address);
        }
    }
}

/// Pinned memory.
pub(crate) struct Pinned {
    peers: PeerMappings,
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
        self.peers = PeerMappings::default();
        self.memory.free(self.address);
    }
}

impl Pinned {
    /// Whether a GPU reaches it.
    pub(crate) fn is_reached_by(&self, gpu: &Gpu) -> bool {
        let memory = gpu.machine.memory();
        Arc::ptr_eq(&self.memory, memory) || self.peers.include(memory)
    }
}

/// The host's memory that is mapped.
pub(crate) struct Registered {
    peers: PeerMappings,
    memory: Arc<Memory>,
    address: u64,
    pub(crate) bytes: u64,
}

impl Registered {
    /// Maps a range on a GPU and on `others`.
    ///
    /// # Errors
    /// It overlaps memory that is mapped on the GPU.
    ///
    /// # Safety
    /// As for [`PeerMappings::map`].
    pub(crate) unsafe fn map(
        gpu: &Gpu,
        host: NonNull<u8>,
        bytes: u64,
        others: &[Arc<Gpu>],
    ) -> Answer<Self> {
        let memory = gpu.machine.memory();
        // SAFETY: the caller's promise.
        if !unsafe { memory.register(host, bytes) } {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        Ok(Self {
            // SAFETY: the caller's promise.
            peers: unsafe { PeerMappings::map(others, host, bytes) },
            memory: Arc::clone(memory),
            address: host.as_ptr().expose_provenance() as u64,
            bytes,
        })
    }

    /// Whether a GPU reaches it.
    pub(crate) fn is_reached_by(&self, gpu: &Gpu) -> bool {
        let memory = gpu.machine.memory();
        Arc::ptr_eq(&self.memory, memory) || self.peers.include(memory)
    }

    /// Unmaps it, after the copies that are using it: the program may free the memory afterwards. A context that is
    /// broken does not wait for them.
    pub(crate) fn unmap(mut self: Arc<Self>) {
        while let Err(shared) = Arc::try_unwrap(self) {
            self = shared;
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.memory.unregister(self.address);
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
        let peers = unsafe { PeerMappings::map(others, host, size) };
        let pinned = Arc::new(Pinned {
            peers,
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
