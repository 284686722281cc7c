//! Memory as one GPU sees it.

use std::ptr::NonNull;
use std::sync::Arc;

use device_arena::{AccessKind, Neighbour};

use super::region::Region;
use super::{Memory, Owner, read, slot_of};
use gcn_emu::AddressSpace;

/// The end of the host's addresses.
const HOST_END: u64 = 1 << 47;

/// Address space of one GPU.
#[derive(Clone)]
pub(crate) struct View {
    memory: Arc<Memory>,
    pub(crate) slot: usize,
    own: Arc<Region>,
}

impl View {
    pub(super) fn new(memory: Arc<Memory>, slot: usize, own: Arc<Region>) -> Self {
        Self { memory, slot, own }
    }

    /// Memory of other GPUs, and the host's own.
    #[cold]
    fn resolve_other(&self, address: u64, bytes: u64, kind: AccessKind) -> Option<NonNull<u8>> {
        if let Some(slot) = slot_of(address) {
            let peer = self.memory.region(Owner::Gpu(slot))?;
            return peer.resolve(self.slot, address, bytes, kind);
        }
        let locked = read(&self.memory.locked);
        let mut locked = locked.iter();
        locked.find(|block| block.contains(address, bytes) && block.gpus.has(self.slot))?;
        NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize))
    }
}

// SAFETY: regions stay mapped as long as the view refers to them, and begin at multiples of a page. Locked
// memory is the program's, at the same address: that it stays mapped until it is unlocked, and that the
// program accesses it atomically while kernels do, is what `hsa_amd_memory_lock` asks for.
unsafe impl AddressSpace for View {
    #[inline]
    fn resolve(&self, address: u64, bytes: u64, kind: AccessKind) -> Option<NonNull<u8>> {
        let own = self.own.resolve(self.slot, address, bytes, kind);
        if own.is_some() {
            return own;
        }
        let memory = &self.memory;
        let system = memory.system.resolve(self.slot, address, bytes, kind);
        let found = system.or_else(|| memory.control.resolve(address, bytes, kind));
        found.or_else(|| self.resolve_other(address, bytes, kind))
    }

    fn is_of_host(&self, address: u64) -> bool {
        slot_of(address).is_none()
    }

    fn describe(&self, address: u64) -> Option<String> {
        let memory = &self.memory;
        let is_writable = self.resolve(address, 1, AccessKind::Store).is_some();
        if let Some(block) = memory.block_at(address)
            && !is_writable
        {
            let owner = match block.owner {
                Owner::Cpu => "of the host's memory",
                Owner::Gpu(slot) if slot == self.slot => "of this GPU's memory",
                Owner::Gpu(_) => "of another GPU's memory",
            };
            let why = if block.gpus.has(self.slot) {
                "that this GPU can only read"
            } else {
                "that this GPU may not access: call hsa_amd_agents_allow_access"
            };
            return Some(format!(
                "inside an allocation of {} bytes {owner} {why}",
                block.bytes
            ));
        }
        let peer = slot_of(address).and_then(|slot| memory.region(Owner::Gpu(slot)));
        let peer = peer.as_ref().map(|region| &region.arena);
        let mut arenas = vec![&self.own.arena, &memory.system.arena, &memory.control];
        arenas.extend(peer);
        if let Some(neighbour) = Neighbour::find(&arenas, address) {
            return Some(neighbour.describe(address, None));
        }
        let is_host = (super::PAGE..HOST_END).contains(&address) && slot_of(address).is_none();
        is_host.then(|| {
            "no memory of a pool, and host memory only if it is locked (hsa_amd_memory_lock)"
                .to_owned()
        })
    }
}
