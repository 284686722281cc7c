//! Consumer of [`gcc_ring`](shared_abi::wire::gcc_ring).
//!
//! Requests are taken as they are published, in any order: a device thread that
//! is slow between its ticket and its request holds up nobody until the ring is
//! full. `consumed` can only advance over tickets in order, so a thread that dies
//! there does stop the ring after one lap; that is the protocol's.

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_ring::{GccRing as Ring, GccRingSlot as Slot, SLOTS};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

pub use super::gcc::complete;
use super::{Arg, At, Attached, Copier, Kind, Place, Poll, PollWire, Taken, Wire, WireParts, gcc};
use crate::device::{DeviceError, MappedMemory};

/// Finds published requests.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
    slots: u32,
    /// What `consumed` says; the device's word is never read back.
    consumed: u32,
    /// Slots whose ticket, at or after `consumed`, is taken.
    taken: Vec<bool>,
    /// The device's counter made no sense: nothing is taken any more.
    broken: bool,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system` with `slots` slots
    /// ([`SLOTS`], but for tests), all of whose tickets before `ticket` are
    /// consumed.
    pub fn new(system: S, slots: u32, ticket: u32) -> Self {
        Self {
            system,
            slots,
            consumed: ticket,
            taken: vec![false; slots as usize],
            broken: false,
        }
    }

    /// Looks for a request and takes it.
    pub fn poll(&mut self) -> Poll {
        if self.broken {
            return Poll::Empty;
        }
        // Relaxed: only says how far to scan; R1 brings the requests.
        let drawn = self
            .system
            .load32(offset_of!(Ring, next_slot), Load::Relaxed);
        let waiting = drawn.wrapping_sub(self.consumed);
        if waiting > i32::MAX as u32 {
            self.broken = true;
            return Poll::ProtocolError(format!(
                "next_slot is {drawn}, behind {} that are consumed",
                self.consumed
            ));
        }
        for ahead in 0..waiting.min(self.slots) {
            let slot = self.consumed.wrapping_add(ahead) % self.slots;
            if !self.taken[slot as usize]
                && let Some(taken) = self.take(slot)
            {
                return Poll::Taken(taken);
            }
        }
        Poll::Empty
    }

    fn take(&mut self, slot: u32) -> Option<Taken> {
        let at = offset_of!(Ring, queue) + slot as usize * size_of::<Slot>();
        // Edge `R1`, consuming end: with the signal's address come the other words.
        let signal = self
            .system
            .load64(at + offset_of!(Slot, signal), Load::Acquire);
        if signal == 0 {
            return None;
        }
        // Relaxed: R1 orders these.
        let word = |field| self.system.load64(at + field, Load::Relaxed);
        let taken = Taken {
            func: word(offset_of!(Slot, func)),
            mapnum: word(offset_of!(Slot, mapnum)),
            launch: 0,
            at: At::Gcc {
                addrs: word(offset_of!(Slot, addrs)),
                sizes: word(offset_of!(Slot, sizes)),
                kinds: word(offset_of!(Slot, kinds)),
                signal,
                slot,
            },
        };
        // Relaxed: R3 orders it for the next lap's owner.
        self.system
            .store64(at + offset_of!(Slot, signal), 0, Store::Relaxed);
        self.taken[slot as usize] = true;
        self.advance();
        Some(taken)
    }

    /// Gives slots back, as far as every ticket before them is taken.
    fn advance(&mut self) {
        let before = self.consumed;
        while std::mem::take(&mut self.taken[(self.consumed % self.slots) as usize]) {
            self.consumed = self.consumed.wrapping_add(1);
        }
        if self.consumed != before {
            // Relaxed: only the host reads it, for debugging the ring.
            self.system
                .store32(offset_of!(Ring, claimed), self.consumed, Store::Relaxed);
            // Edge `R3`, consuming end: the next lap's owner of a slot writes it
            // after our loads from it and after its signal is 0.
            self.system
                .store32(offset_of!(Ring, consumed), self.consumed, Store::Release);
        }
    }
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    fn poll(&mut self) -> Poll {
        Poller::poll(self)
    }
}

/// How this wire is made.
pub(super) const KIND: Kind = Kind {
    kind: WireKind::GCC_RING,
    bytes: |_| size_of::<Ring>(),
    attach: |memory, config, bounce| {
        let ticket = config.initial_seq;
        let wire = GccRing::new(memory, ticket);
        let poller = Poller::new(wire.words(), SLOTS, ticket);
        let poller = gcc::Attributed::new(poller, Arc::clone(bounce));
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
struct GccRing {
    memory: MappedMemory,
}

impl GccRing {
    /// A wire in `memory`, which is zeroed and large enough, whose next ticket is
    /// `ticket`.
    fn new(memory: MappedMemory, ticket: u32) -> Self {
        let this = Self { memory };
        for counter in [
            offset_of!(Ring, next_slot),
            offset_of!(Ring, consumed),
            offset_of!(Ring, claimed),
        ] {
            // Relaxed: no kernel runs yet; starting one orders it.
            this.words().store32(counter, ticket, Store::Relaxed);
        }
        this
    }

    fn words(&self) -> Coherent {
        // SAFETY: the memory is a `Ring`; wires and pollers live in a server,
        // which drops them together; all accesses on both sides are atomic.
        unsafe { Coherent::new(self.memory.host.as_ptr()) }
    }
}

impl Wire for GccRing {
    fn name(&self) -> &'static str {
        "gcc-ring"
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

    fn complete(
        &self,
        taken: &Taken,
        copier: &mut Copier,
        _: Status,
        _: u64,
    ) -> Result<(), DeviceError> {
        let At::Gcc { signal, .. } = taken.at else {
            unreachable!("a request is served by the wire it was taken from")
        };
        gcc::signal(copier, signal)
    }
}
