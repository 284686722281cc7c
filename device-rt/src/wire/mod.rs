//! The wires, seen from the device: how a device thread claims, publishes and
//! waits, and the call that is made of these, one file per wire.
//!
//! The producers see memory only through the traits of [`shared_abi::words`], so
//! the model checker runs the same code.

pub mod gcc_ring;
pub mod gcc_slot;
pub mod native;
#[cfg(test)]
mod tests;

use shared_abi::image::Runtime;
use shared_abi::status::Status;
use shared_abi::wire::{Bell, WireKind};
use shared_abi::words::{Load, SystemWords};

use crate::arch::Spaces;
use crate::carry::Args;

/// A call that is really one to the host.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) func: u64,
    pub(crate) args: Args,
    /// Spreads threads over slots and blocks: the thread among all of the launch.
    pub(crate) hint: u32,
    pub(crate) launch: u32,
    pub(crate) spaces: Spaces,
}

/// One way to the host.
pub(crate) trait Wire {
    /// By which the host chooses it.
    const KIND: WireKind;

    /// Makes a call and waits for it. `runtime` is what the host wrote for this
    /// wire.
    fn call(runtime: &Runtime, call: Call) -> Status;
}

/// The table of wires, and what is made of it. Not a table of functions: a call
/// through a pointer hides a kernel's stack and registers from GPU compilers.
macro_rules! wires {
    ($($wire:ty),* $(,)?) => {
        /// The bits of all wires, as [`ImageInfo`](shared_abi::image::ImageInfo)
        /// has them.
        pub(crate) const BITS: u32 = 0 $(| <$wire as Wire>::KIND.bit())*;

        /// Makes a call on the wire that the host chose, if it chose one.
        pub(crate) fn call(runtime: &Runtime, call: Call) -> Status {
            match WireKind(runtime.wire_kind) {
                $(<$wire as Wire>::KIND => <$wire as Wire>::call(runtime, call),)*
                _ => Status::NOT_OFFLOADED,
            }
        }
    };
}

wires! {
    native::Native,
    gcc_ring::Ring,
    gcc_slot::Single,
}

/// Tells the host that a request has been published, if it sleeps.
pub fn ring_if_asleep(bell: &impl SystemWords, ring: impl FnOnce()) {
    // Edge `W1`, device end: the request was stored before this fence. If the load
    // below misses the host's `asleep`, the host's look after its own fence sees
    // the request.
    bell.fence();
    // Relaxed: the fence orders it, and nothing is read on the strength of it.
    if bell.load32(core::mem::offset_of!(Bell, asleep), Load::Relaxed) != 0 {
        ring();
    }
}
