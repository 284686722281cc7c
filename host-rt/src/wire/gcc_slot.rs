//! Consumer of [`gcc_slot`](shared_abi::wire::gcc_slot).

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_slot::GccSlot as Slot;
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::{Arg, At, Attached, Copier, Kind, Place, Poll, PollWire, Taken, Wire, WireParts, gcc};
use crate::device::{DeviceError, MappedMemory};

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
    pub fn poll(&mut self) -> Poll {
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
        Poll::Taken(Taken {
            func,
            mapnum: word(offset_of!(Slot, mapnum)),
            launch: 0,
            at: At::Gcc {
                addrs: word(offset_of!(Slot, addrs)),
                sizes: word(offset_of!(Slot, sizes)),
                kinds: word(offset_of!(Slot, kinds)),
                signal: 0,
                slot: 0,
            },
        })
    }
}

/// Answers the request.
pub fn complete(system: &impl SystemWords) {
    // Edge `S2`, completing end: whoever sees the 0 sees what was copied back.
    system.store64(offset_of!(Slot, func), 0, Store::Release);
}

/// How this wire is made.
pub(super) const KIND: Kind = Kind {
    kind: WireKind::GCC_SLOT,
    bytes: |_| size_of::<Slot>(),
    attach: |memory, _config, bounce| {
        let wire = GccSlot { memory };
        let poller = gcc::Attributed::new(Poller::new(wire.words()), Arc::clone(bounce));
        let address = wire.memory.device;
        WireParts {
            transport: Attached {
                address,
                wire: Box::new(wire),
            },
            poller: Box::new(poller),
        }
    },
};

/// The wire in mapped memory.
struct GccSlot {
    memory: MappedMemory,
}

impl GccSlot {
    fn words(&self) -> Coherent {
        // SAFETY: the memory is a slot; wires and pollers live in a server,
        // which drops them together; all accesses on both sides are atomic.
        unsafe { Coherent::new(self.memory.host.as_ptr()) }
    }
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    fn poll(&mut self) -> Poll {
        Poller::poll(self)
    }
}

impl Wire for GccSlot {
    fn name(&self) -> &'static str {
        "gcc-slot"
    }

    fn slots(&self) -> Option<u32> {
        Some(1)
    }

    fn read_args(
        &self,
        taken: &Taken,
        copier: &mut Copier,
        limit: u64,
        args: &mut Vec<Arg>,
        places: &mut Vec<Place>,
    ) -> Result<(), String> {
        gcc::read_args(taken, copier, limit, args, places)
    }

    fn complete(&self, _: &Taken, _: &mut Copier, _: Status, _: u64) -> Result<(), DeviceError> {
        complete(&self.words());
        Ok(())
    }
}
