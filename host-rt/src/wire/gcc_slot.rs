//! Consumer of [`gcc_slot`](shared_abi::wire::gcc_slot).

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_slot::GccSlot as Slot;
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::gcc::{Completion, GccRequest};
use super::memory::Wire;
use super::{DeviceAccess, Poll, PollWire};
use crate::device::MappedMemory;

/// Replaces the function word of a request that is taken and not completed. No function has this
/// word, and the device waits for 0 only. A device that sends it as a function word blocks this
/// wire, and nothing else.
const TAKEN: u64 = u64::MAX;

/// Finds published requests.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system`.
    pub fn new(system: S) -> Self {
        Self { system }
    }

    /// Takes the request, if one is published.
    pub fn poll(&mut self) -> Poll<GccRequest> {
        // Edge `S1`, consuming end: the other words precede the function word.
        let func = self.system.load64(offset_of!(Slot, func), Load::Acquire);
        if func == 0 || func == TAKEN {
            return Poll::Empty;
        }
        // Relaxed: the poll token orders it for the next poller, which sees this word or a later
        // one: 0, or the next request. A separate word of the host could not be cleared together
        // with `func`: a poll between the two stores, perhaps the last before sleep, would miss the
        // next request.
        self.system
            .store64(offset_of!(Slot, func), TAKEN, Store::Relaxed);
        // Relaxed: S1 orders these.
        let word = |field| self.system.load64(field, Load::Relaxed);
        Poll::Request(GccRequest {
            func,
            mapnum: word(offset_of!(Slot, mapnum)),
            addrs: word(offset_of!(Slot, addrs)),
            sizes: word(offset_of!(Slot, sizes)),
            kinds: word(offset_of!(Slot, kinds)),
            completion: Completion::FunctionWord,
        })
    }
}

/// Completes the request.
pub fn complete(system: &impl SystemWords) {
    // Edge `S2`, completing end: a reader of the 0 sees the results.
    system.store64(offset_of!(Slot, func), 0, Store::Release);
}

/// Completes a request whose launch is aborted, instead of the thread that runs its function.
pub(crate) fn complete_aborted(wire: &Wire) {
    complete(&wire.words());
}

/// Size of the wire in mapped memory, in bytes.
pub(super) const BYTES: usize = size_of::<Slot>();

/// Creates a wire in `memory`, which is zeroed and has [`BYTES`], and its poller.
///
/// # Safety
/// The wire lives as long as the poller, which uses its memory.
pub(super) unsafe fn attach(
    memory: MappedMemory,
    access: &DeviceAccess,
) -> (Wire, Poller<Coherent>) {
    let wire = Wire {
        kind: WireKind::GCC_SLOT,
        name: "gcc-slot",
        slots: 1,
        keeps_slots: true,
        warps: Arc::default(),
        memory,
        access: access.clone(),
    };
    // SAFETY: the caller keeps the wire while it uses the poller.
    let poller = Poller::new(unsafe { wire.detached_words() });
    (wire, poller)
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = GccRequest;

    fn poll(&mut self) -> Poll<GccRequest> {
        Poller::poll(self)
    }
}
