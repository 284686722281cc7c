//! Memory: one address space for all agents.
//!
//! The host's memory has the same addresses everywhere. Each GPU's own memory has a window of addresses
//! that the host cannot dereference, as on a card whose memory the bus does not show to the host.
//! A pointer of the wrong side faults on either.
//!
//! | file | job |
//! |---|---|
//! | `region` | one agent's memory, and which GPUs may access it |
//! | `block` | allocations as programs see them |
//! | `view` | memory as one GPU sees it |
//! | `transfer` | copies by the host |

mod block;
mod region;
pub(crate) mod transfer;
mod view;

use std::collections::BTreeMap;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use device_arena::{CheckedArena, Fill};
use emu_driver::fill::soil;

pub(crate) use self::block::{Block, BlockKind, OnFree, Owner};
use self::region::Region;
pub(crate) use self::region::{Gpus, PAGE};
pub(crate) use self::view::View;
use crate::status::{Answer, Status};

/// The most GPUs at a time.
pub const MAX_GPUS: usize = 32;

/// The windows of GPUs. Linux maps nothing at these addresses by itself. Device code takes the 48th bit of an
/// address for a sign, so they are below it.
const WINDOWS: u64 = 1 << 45;
const WINDOW: u64 = 1 << 40;

/// The most memory of a GPU.
pub(crate) const MAX_MEMORY: u64 = WINDOW;

/// The host's memory, for all pools together, and that of signals and queues.
const SYSTEM: u64 = 32 << 30;
const CONTROL: u64 = 256 << 20;

/// The slot of the GPU in whose window an address is.
fn slot_of(address: u64) -> Option<usize> {
    let slot = address.checked_sub(WINDOWS)? / WINDOW;
    (slot < MAX_GPUS as u64).then_some(slot as usize)
}

/// Memory of all agents.
pub(crate) struct Memory {
    system: Region,
    /// Signals and queues, which all GPUs may access.
    control: CheckedArena,
    /// Memory of GPUs, by slot.
    gpus: RwLock<[Option<Arc<Region>>; MAX_GPUS]>,
    /// Allocations by address, except those of `control`.
    blocks: RwLock<BTreeMap<u64, Block>>,
    /// Locked memory of the host; ranges may overlap.
    locked: RwLock<Vec<Block>>,
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    // No panic leaves the data inconsistent.
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Reserves the addresses of the host's memory.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            system: Region::new(SYSTEM, None)?,
            control: CheckedArena::new(CONTROL, None)?,
            gpus: RwLock::default(),
            blocks: RwLock::default(),
            locked: RwLock::default(),
        })
    }

    /// Size of the host's memory in bytes.
    pub(crate) fn system_bytes(&self) -> u64 {
        self.system.arena.bytes()
    }

    /// Allocated bytes of the host's memory.
    pub(crate) fn system_used(&self) -> u64 {
        self.system.arena.used()
    }

    /// Adds the memory of a GPU; returns its slot, and how it sees all memory.
    pub(crate) fn add_gpu(self: &Arc<Self>, bytes: u64) -> io::Result<View> {
        let mut gpus = write(&self.gpus);
        let slot = gpus.iter().position(Option::is_none);
        let slot = slot.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::QuotaExceeded,
                format!("there are {MAX_GPUS} emulated GPUs, and no more are possible"),
            )
        })?;
        if bytes > MAX_MEMORY {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let region = Arc::new(Region::new(bytes, Some(WINDOWS + slot as u64 * WINDOW))?);
        gpus[slot] = Some(Arc::clone(&region));
        Ok(View::new(Arc::clone(self), slot, region))
    }

    /// Removes a GPU's memory, and its access to other memory.
    pub(crate) fn remove_gpu(&self, slot: usize) {
        let removed = write(&self.gpus)[slot].take();
        let mut blocks = write(&self.blocks);
        blocks.retain(|_, block| block.owner != Owner::Gpu(slot));
        for block in blocks.values_mut() {
            if block.gpus.has(slot) {
                block.gpus = block.gpus.without(slot);
                self.with_region(block.address, |region| {
                    region.set_access(block.address, block.bytes, block.gpus);
                });
            }
        }
        for block in write(&self.locked).iter_mut() {
            block.gpus = block.gpus.without(slot);
        }
        drop(removed);
    }

    fn region(&self, owner: Owner) -> Option<Arc<Region>> {
        match owner {
            Owner::Cpu => None,
            Owner::Gpu(slot) => read(&self.gpus)[slot].clone(),
        }
    }

    /// Calls `run` with the region that an address is in.
    fn with_region<T>(&self, address: u64, run: impl FnOnce(&Region) -> T) -> Option<T> {
        match slot_of(address) {
            Some(slot) => self.region(Owner::Gpu(slot)).map(|region| run(&region)),
            None => self.system.arena.host(address).map(|_| run(&self.system)),
        }
    }

    /// Allocates memory with contents that are not zero.
    pub(crate) fn alloc(
        &self,
        owner: Owner,
        bytes: u64,
        kind: BlockKind,
        flags: u32,
        gpus: Gpus,
    ) -> Answer<u64> {
        let address = self.alloc_filled(owner, bytes, kind, flags, gpus, Fill::Any)?;
        if let Some(host) = self.host(address, bytes) {
            // SAFETY: the bytes were allocated, and are not shared yet.
            unsafe { soil(host.as_ptr(), bytes as usize) };
        }
        Ok(address)
    }

    /// Allocates memory.
    pub(crate) fn alloc_filled(
        &self,
        owner: Owner,
        bytes: u64,
        kind: BlockKind,
        flags: u32,
        gpus: Gpus,
        fill: Fill,
    ) -> Answer<u64> {
        let address = match owner {
            Owner::Cpu => self.system.alloc(bytes, fill, gpus),
            Owner::Gpu(_) => {
                let region = self.region(owner).ok_or(Status::INVALID_AGENT)?;
                region.alloc(bytes, fill, gpus)
            }
        };
        let address = address.ok_or(Status::OUT_OF_RESOURCES)?;
        let block = Block {
            address,
            bytes,
            kind,
            owner,
            flags,
            gpus,
            user_data: 0,
            on_free: Vec::new(),
        };
        write(&self.blocks).insert(address, block);
        Ok(address)
    }

    /// Frees the allocation at an address, if there is one of this kind; returns it.
    pub(crate) fn free(&self, address: u64, kind: BlockKind) -> Answer<Block> {
        let mut blocks = write(&self.blocks);
        let freed = blocks.get(&address).filter(|block| block.kind == kind);
        if freed.is_none() {
            return Err(Status::INVALID_ALLOCATION);
        }
        let freed = blocks.remove(&address).ok_or(Status::INVALID_ALLOCATION)?;
        drop(blocks);
        self.with_region(address, |region| region.arena.free(address, |_| {}));
        Ok(freed)
    }

    /// Frees all allocations of a kind.
    pub(crate) fn free_all(&self, kind: BlockKind) {
        let blocks = read(&self.blocks);
        let all = blocks.values().filter(|block| block.kind == kind);
        let all: Vec<u64> = all.map(|block| block.address).collect();
        drop(blocks);
        for address in all {
            // Another thread may have freed the block.
            let _ = self.free(address, kind);
        }
    }

    /// Changes the allocation at an address.
    pub(crate) fn update<T>(
        &self,
        address: u64,
        change: impl FnOnce(&mut Block) -> T,
    ) -> Option<T> {
        if let Some(block) = write(&self.blocks).get_mut(&address) {
            let (before, changed) = (block.gpus, change(block));
            if block.gpus != before {
                self.with_region(address, |region| {
                    region.set_access(address, block.bytes, block.gpus);
                });
            }
            return Some(changed);
        }
        let mut locked = write(&self.locked);
        let block = locked.iter_mut().find(|block| block.address == address);
        block.map(change)
    }

    /// Makes a part of an allocation read-only for GPUs.
    pub(crate) fn make_read_only(&self, address: u64, bytes: u64) {
        self.with_region(address, |region| {
            region.arena.make_read_only(address, bytes)
        });
    }

    /// The allocation, or the locked memory, that contains an address.
    pub(crate) fn block_at(&self, address: u64) -> Option<Block> {
        let blocks = read(&self.blocks);
        let block = blocks.range(..=address).next_back();
        let found = block
            .map(|(_, block)| block)
            .filter(|b| b.contains(address, 1));
        found.cloned().or_else(|| self.locked_range(address, 1))
    }

    /// The number of the program's allocations.
    pub(crate) fn count(&self) -> usize {
        let blocks = read(&self.blocks);
        let pool = blocks
            .values()
            .filter(|block| block.kind == BlockKind::Pool);
        pool.count() + read(&self.locked).len()
    }

    /// Bytes of a GPU's memory, and those that are allocated.
    pub(crate) fn usage(&self, slot: usize) -> (u64, u64) {
        let region = self.region(Owner::Gpu(slot));
        region.map_or((0, 0), |region| (region.arena.bytes(), region.arena.used()))
    }

    /// Whether a GPU may use all of the range, which must be in one allocation.
    pub(crate) fn may_use(&self, slot: usize, address: u64, len: u64) -> bool {
        let blocks = read(&self.blocks);
        let block = blocks.range(..=address).next_back();
        let found = block
            .map(|(_, block)| block)
            .filter(|b| b.contains(address, len));
        match found {
            Some(block) => block.gpus.has(slot),
            None => {
                drop(blocks);
                let locked = read(&self.locked);
                let mut locked = locked.iter();
                let may_use = |block: &Block| block.contains(address, len) && block.gpus.has(slot);
                locked.any(may_use) || self.control.contains(address, len) == Some(true)
            }
        }
    }

    /// The host address of a range in one allocation, which is not the host's own memory.
    pub(crate) fn host(&self, address: u64, len: u64) -> Option<NonNull<u8>> {
        let found = self.with_region(address, |region| {
            let is_there = region.arena.contains(address, len) == Some(true);
            is_there.then(|| region.arena.host(address)).flatten()
        });
        found.flatten().and_then(NonNull::new)
    }

    /// Whether an address belongs to the reserved addresses.
    pub(crate) fn is_ours(&self, address: u64) -> bool {
        slot_of(address).is_some()
            || self.system.arena.host(address).is_some()
            || self.control.host(address).is_some()
    }

    /// Locks memory of the host for GPUs.
    pub(crate) fn lock(&self, address: u64, bytes: u64, flags: u32, gpus: Gpus) {
        write(&self.locked).push(Block {
            address,
            bytes,
            kind: BlockKind::Locked,
            owner: Owner::Cpu,
            flags,
            gpus,
            user_data: 0,
            on_free: Vec::new(),
        });
    }

    /// Unlocks memory; the address is that of its begin.
    pub(crate) fn unlock(&self, address: u64) -> Answer<Block> {
        let mut locked = write(&self.locked);
        let last = locked.iter().rposition(|block| block.address == address);
        let last = last.ok_or(Status::INVALID_ARGUMENT)?;
        Ok(locked.remove(last))
    }

    /// The locked memory that contains a range.
    fn locked_range(&self, address: u64, len: u64) -> Option<Block> {
        let locked = read(&self.locked);
        let mut locked = locked.iter();
        locked.find(|block| block.contains(address, len)).cloned()
    }

    /// Allocates zeroed memory for a signal or a queue: its address here and on all GPUs.
    pub(crate) fn alloc_control(&self, bytes: usize) -> Option<NonNull<u8>> {
        let address = self.control.alloc(bytes as u64, Fill::Zeros)?;
        NonNull::new(self.control.host(address)?)
    }

    /// Frees memory of [`alloc_control`](Self::alloc_control).
    pub(crate) fn free_control(&self, memory: NonNull<u8>) {
        let address = memory.as_ptr().expose_provenance() as u64;
        self.control.free(address, |_| {});
    }
}
