//! Consumer of [`gcc_slot`](shared_abi::wire::gcc_slot).

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_slot::GccSlot as Slot;
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::{At, Attached, Copier, Kind, Place, Poll, Taken, Watch, Wire, gcc};
use crate::device::MappedMemory;
use crate::error::DeviceError;
use crate::map::Arg;

/// Byte offset, behind the slot, of a word of the host's own: 1 while a request
/// is taken and not completed, since the slot looks the same before and after the
/// taking.
const BUSY: usize = 64;

/// Bytes of memory for the slot and the host's word.
pub const BYTES: usize = 128;

/// Finds the one request.
#[derive(Debug)]
pub struct Watcher<S> {
    system: S,
}

impl<S: SystemWords> Watcher<S> {
    /// A watcher of the wire in `system`, which has [`BYTES`].
    pub fn new(system: S) -> Self {
        Self { system }
    }

    /// Looks for a request and takes it.
    pub fn poll(&mut self) -> Poll {
        // Edge `S4`, watching end: see `complete`.
        if self.system.load32(BUSY, Load::Acquire) != 0 {
            return Poll::Empty;
        }
        // Edge `S1`, consuming end: with the function word come the others.
        let func = self.system.load64(offset_of!(Slot, func), Load::Acquire);
        if func == 0 {
            return Poll::Empty;
        }
        // Relaxed: only the thread that completes this request writes it next,
        // and it learns of the request from us.
        self.system.store32(BUSY, 1, Store::Relaxed);
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
            },
        })
    }
}

/// Answers the request.
pub fn complete(system: &impl SystemWords) {
    // Edge `S2`, completing end: whoever sees the 0 sees what was copied back.
    system.store64(offset_of!(Slot, func), 0, Store::Release);
    // Edge `S4`, completing end: a watcher that sees the slot free sees the 0, or
    // the next request, never this one again.
    system.store32(BUSY, 0, Store::Release);
}

/// How this wire is made.
pub(super) const KIND: Kind = Kind {
    kind: WireKind::GCC_SLOT,
    bytes: |_| BYTES,
    attach: |memory, _geometry, bounce| {
        let wire = GccSlot { memory };
        let watcher = gcc::Attributed::new(Watcher::new(wire.words()), Arc::clone(bounce));
        let address = wire.memory.device;
        (
            Attached {
                address,
                wire: Box::new(wire),
            },
            Box::new(watcher),
        )
    },
};

/// The wire in mapped memory.
struct GccSlot {
    memory: MappedMemory,
}

impl GccSlot {
    fn words(&self) -> Coherent {
        // SAFETY: the memory has `BYTES`; wires and watchers live in a server,
        // which drops them together; all accesses on both sides are atomic.
        unsafe { Coherent::new(self.memory.host.as_ptr()) }
    }
}

impl<S: SystemWords + Send> Watch for Watcher<S> {
    fn poll(&mut self) -> Poll {
        Watcher::poll(self)
    }
}

impl Wire for GccSlot {
    fn name(&self) -> &'static str {
        "gcc-slot"
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

    unsafe fn read_slot(&self, _: &Taken, _: usize, _: *mut u8, _: usize) {
        unreachable!("nothing is carried in a slot of this wire")
    }

    unsafe fn write_slot(&self, _: &Taken, _: usize, _: *const u8, _: usize) {
        unreachable!("nothing is carried in a slot of this wire")
    }

    fn complete(&self, _: &Taken, _: &mut Copier, _: Status, _: u64) -> Result<(), DeviceError> {
        complete(&self.words());
        Ok(())
    }
}
