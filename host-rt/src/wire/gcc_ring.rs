//! Consumer of [`gcc_ring`](shared_abi::wire::gcc_ring).
//!
//! The poller takes requests in the order of publication, not of tickets. A device thread that is
//! slow between drawing its ticket and publishing delays no other until the ring is full. The
//! protocol advances `consumed` over tickets in order, so a thread that dies in between stops the
//! ring after one lap.

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_ring::{GccRing as Ring, GccRingSlot as Slot, SLOTS};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

pub use super::gcc::complete;
use super::gcc::{Completion, GccRequest};
use super::memory::{Wire, WireConfig};
use super::{DeviceAccess, Poll, PollWire, ProtocolError};
use crate::device::{DeviceAddr, MappedMemory};

/// Finds published requests.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
    slots: u32,
    /// The value of the wire's `consumed`, which is never read back.
    consumed: u32,
    /// Slots whose request, of a ticket at or after `consumed`, is taken.
    taken: Vec<bool>,
    /// The device's counter was invalid. Nothing is taken any more.
    broken: bool,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system` with `slots` slots ([`SLOTS`], except in tests). All
    /// tickets before `ticket` are consumed.
    pub fn new(system: S, slots: u32, ticket: u32) -> Self {
        Self {
            system,
            slots,
            consumed: ticket,
            taken: vec![false; slots as usize],
            broken: false,
        }
    }

    /// Takes a published request.
    pub fn poll(&mut self) -> Poll<GccRequest> {
        if self.broken {
            return Poll::Empty;
        }
        // Relaxed: only limits the scan; R1 orders the requests.
        let drawn = self
            .system
            .load32(offset_of!(Ring, next_slot), Load::Relaxed);
        let waiting = drawn.wrapping_sub(self.consumed);
        if waiting > i32::MAX as u32 {
            self.broken = true;
            return Poll::ProtocolError(ProtocolError::Counter {
                counter: "next_slot",
                found: drawn,
                consumed: self.consumed,
                messages: "slots",
            });
        }
        for ahead in 0..waiting.min(self.slots) {
            let slot = self.consumed.wrapping_add(ahead) % self.slots;
            if !self.taken[slot as usize]
                && let Some(taken) = self.take(slot)
            {
                return Poll::Request(taken);
            }
        }
        Poll::Empty
    }

    fn take(&mut self, slot: u32) -> Option<GccRequest> {
        let at = offset_of!(Ring, queue) + slot as usize * size_of::<Slot>();
        // Edge `R1`, consuming end: the other words precede the signal's address.
        let signal = self
            .system
            .load64(at + offset_of!(Slot, signal), Load::Acquire);
        if signal == 0 {
            return None;
        }
        // Relaxed: R1 orders these.
        let word = |field| self.system.load64(at + field, Load::Relaxed);
        let taken = GccRequest {
            func: word(offset_of!(Slot, func)),
            mapnum: word(offset_of!(Slot, mapnum)),
            addrs: word(offset_of!(Slot, addrs)),
            sizes: word(offset_of!(Slot, sizes)),
            kinds: word(offset_of!(Slot, kinds)),
            completion: Completion::Signal(DeviceAddr(signal)),
        };
        // Relaxed: R3 orders it before the stores of the next lap's owner.
        self.system
            .store64(at + offset_of!(Slot, signal), 0, Store::Relaxed);
        self.taken[slot as usize] = true;
        self.advance();
        Some(taken)
    }

    /// Releases slots in the order of tickets, up to the first that is not taken.
    fn advance(&mut self) {
        let before = self.consumed;
        while std::mem::take(&mut self.taken[(self.consumed % self.slots) as usize]) {
            self.consumed = self.consumed.wrapping_add(1);
        }
        if self.consumed != before {
            // Relaxed: only debuggers read it.
            self.system
                .store32(offset_of!(Ring, claimed), self.consumed, Store::Relaxed);
            // Edge `R3`, consuming end: the next lap's owner of a slot writes it after our loads,
            // and after the 0 in its signal.
            self.system
                .store32(offset_of!(Ring, consumed), self.consumed, Store::Release);
        }
    }
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = GccRequest;

    fn poll(&mut self) -> Poll<GccRequest> {
        Poller::poll(self)
    }
}

/// Size of the wire in mapped memory, in bytes.
pub(super) const BYTES: usize = size_of::<Ring>();

/// Creates a wire in `memory`, which is zeroed and has [`BYTES`], and its poller.
///
/// # Safety
/// The wire lives as long as the poller, which uses its memory.
pub(super) unsafe fn attach(
    memory: MappedMemory,
    config: &WireConfig,
    access: &DeviceAccess,
) -> (Wire, Poller<Coherent>) {
    let wire = Wire {
        kind: WireKind::GCC_RING,
        name: "gcc-ring",
        slots: SLOTS,
        keeps_slots: false,
        warps: Arc::default(),
        memory,
        access: access.clone(),
    };
    let ticket = config.initial_seq;
    // SAFETY: the caller keeps the wire while it uses the poller.
    let words = unsafe { wire.detached_words() };
    for counter in [
        offset_of!(Ring, next_slot),
        offset_of!(Ring, consumed),
        offset_of!(Ring, claimed),
    ] {
        // Relaxed: no kernel runs yet, and a launch orders it.
        words.store32(counter, ticket, Store::Relaxed);
    }
    (wire, Poller::new(words, SLOTS, ticket))
}
