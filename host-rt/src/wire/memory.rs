//! The memory of a wire.

use std::sync::Arc;

use shared_abi::wire::WireKind;
use shared_abi::words::{Coherent, SystemWords};

use super::DeviceAccess;
use super::warps::Warps;
use crate::device::{DeviceAddr, MappedMemory};

/// Configuration of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireConfig {
    /// Slots of a `native` wire.
    pub(crate) slots: u32,
    /// Lanes that each of these has room for.
    pub(crate) lanes: u32,
    /// The sequence number before the first, or the first ticket.
    pub(crate) initial_seq: u32,
}

/// A wire in mapped memory.
pub(crate) struct Wire {
    pub(crate) kind: WireKind,
    pub(crate) name: &'static str,
    pub(super) slots: u32,
    /// The warps in the slots of a `native` wire; no slots on others.
    pub(super) warps: Arc<Warps>,
    /// Whether requests keep their slots until they complete, and all launches share the slots.
    pub(super) keeps_slots: bool,
    pub(super) memory: MappedMemory,
    pub(super) access: DeviceAccess,
}

impl Wire {
    /// Its device address.
    pub(crate) fn address(&self) -> DeviceAddr {
        self.memory.device
    }

    /// The number of slots, if all launches share them and each request keeps one until it
    /// completes.
    pub(crate) fn shared_slots(&self) -> Option<u32> {
        self.keeps_slots.then_some(self.slots)
    }

    /// Its words.
    pub(super) fn words(&self) -> impl SystemWords + Copy + use<'_> {
        // SAFETY: the result borrows `self`.
        unsafe { self.detached_words() }
    }

    /// Its words, without a borrow of the wire.
    ///
    /// # Safety
    /// The wire lives while the words are used.
    pub(super) unsafe fn detached_words(&self) -> Coherent {
        // SAFETY: `memory` has the size of the layout that all offsets come from, with slots below
        // `slots`. It lives as long as `self`, which the caller ensures. All accesses on both sides
        // are atomic.
        unsafe { Coherent::new(self.memory.host.as_ptr()) }
    }
}
