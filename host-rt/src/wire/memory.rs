//! The memory of a wire.

use shared_abi::wire::WireKind;
use shared_abi::words::Coherent;

use super::DeviceAccess;
use crate::device::MappedMemory;

/// The numbers that a wire is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireConfig {
    /// Slots of a `native` wire.
    pub(crate) slots: u32,
    /// The sequence number or ticket before the first.
    pub(crate) initial_seq: u32,
}

/// A wire in mapped memory.
pub(crate) struct Wire {
    pub(crate) kind: WireKind,
    pub(crate) name: &'static str,
    pub(super) slots: u32,
    /// A request keeps its slot until it is completed, and all launches share the slots.
    pub(super) keeps_slots: bool,
    pub(super) memory: MappedMemory,
    pub(super) access: DeviceAccess,
}

impl Wire {
    /// Where the device finds it.
    pub(crate) fn address(&self) -> u64 {
        self.memory.device
    }

    /// The number of its slots, if all launches share them and a request keeps one until it is
    /// completed.
    pub(crate) fn shared_slots(&self) -> Option<u32> {
        self.keeps_slots.then_some(self.slots)
    }

    /// Its words. The caller keeps the wire as long as it uses them.
    pub(super) fn words(&self) -> Coherent {
        // SAFETY: `memory` has the size of the layout that all offsets come from, with slots
        // below `slots`, and lives as long as `self`, which whoever has the words keeps: a
        // request and a poller have an `Arc` of it. All accesses on both sides are atomic.
        unsafe { Coherent::new(self.memory.host.as_ptr()) }
    }
}
