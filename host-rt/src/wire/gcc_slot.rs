//! Consumer of [`gcc_slot`](shared_abi::wire::gcc_slot).

use core::mem::offset_of;

use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_slot::GccSlot as Slot;
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::gcc::{Completion, RequestWords};
use super::memory::Wire;
use super::{DeviceAccess, Poll, PollWire};
use crate::device::MappedMemory;

/// In place of the function word of a request that is taken and not completed: no
/// function has it, and the device waits for 0 alone. A device that sends it as a
/// function word waits for ever, as would everybody behind it; nothing else
/// suffers.
const TAKEN: u64 = u64::MAX;

/// Finds the one request.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system`.
    pub fn new(system: S) -> Self {
        Self { system }
    }

    /// Looks for a request and takes it.
    pub fn poll(&mut self) -> Poll<RequestWords> {
        // Edge `S1`, consuming end: with the function word come the others.
        let func = self.system.load64(offset_of!(Slot, func), Load::Acquire);
        if func == 0 || func == TAKEN {
            return Poll::Empty;
        }
        // Relaxed: the next holder of the token has that from us and sees this, or what
        // came after it: 0, or the next request. A word of the host's own beside
        // the slot could not be cleared together with `func`, and a poll between
        // the two stores would miss the next request, perhaps before sleep.
        self.system
            .store64(offset_of!(Slot, func), TAKEN, Store::Relaxed);
        // Relaxed: S1 orders these.
        let word = |field| self.system.load64(field, Load::Relaxed);
        Poll::Request(RequestWords {
            func,
            mapnum: word(offset_of!(Slot, mapnum)),
            addrs: word(offset_of!(Slot, addrs)),
            sizes: word(offset_of!(Slot, sizes)),
            kinds: word(offset_of!(Slot, kinds)),
            completion: Completion::FunctionWord,
        })
    }
}

/// Answers the request.
pub fn complete(system: &impl SystemWords) {
    // Edge `S2`, completing end: whoever sees the 0 sees what was copied back.
    system.store64(offset_of!(Slot, func), 0, Store::Release);
}

/// Bytes of mapped memory that it needs.
pub(super) const BYTES: usize = size_of::<Slot>();

/// A wire in `memory`, which is zeroed and large enough, and its poller.
pub(super) fn attach(memory: MappedMemory, access: &DeviceAccess) -> (Wire, Poller<Coherent>) {
    let wire = Wire {
        kind: WireKind::GCC_SLOT,
        name: "gcc-slot",
        slots: 1,
        keeps_slots: true,
        memory,
        access: access.clone(),
    };
    let poller = Poller::new(wire.words());
    (wire, poller)
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = RequestWords;

    fn poll(&mut self) -> Poll<RequestWords> {
        Poller::poll(self)
    }
}
