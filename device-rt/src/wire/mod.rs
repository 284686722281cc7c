//! The wires, seen from the device: how a device thread claims, publishes and
//! waits, and the call that is made of these, one file per wire.
//!
//! The producers see memory only through the traits of [`shared_abi::words`], so
//! the model checker runs the same code.

pub mod gcc_ring;
pub mod gcc_slot;
pub mod gcn_queue;
pub mod native;
#[cfg(test)]
mod tests;

use shared_abi::image::Runtime;
use shared_abi::status::Status;
use shared_abi::wire::{Bell, WireKind};
use shared_abi::words::{Load, SystemWords};

use crate::arch::{self, Spaces};
use crate::carry::Args;
use crate::runtime::{HostWritten, RUNTIME};
use crate::target_ext::StatusTo;

/// A call that is really one to the host.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// The function word.
    pub(crate) func: u64,
    pub(crate) args: Args,
    /// The number of the device, as the host told it.
    pub(crate) device_num: i32,
    /// Spreads warps over slots and blocks: the warp among all of the launch.
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
    fn call(runtime: &HostWritten<Runtime>, call: Call) -> Status;
}

/// Makes a call on the wire `W` from the calling thread.
///
/// A function of its own for each wire, and its arguments scalars, as many as fit the
/// registers of NVIDIA's calling convention: a kernel then has room in registers for one
/// wire at a time, and nothing on its stack.
///
/// # Safety
/// As for [`StatusTo::write`] and [`Args::new`].
#[inline(never)]
unsafe fn call_on<W: Wire>(
    func: u64,
    count: u32,
    addrs: *const u64,
    sizes: *const u64,
    kinds: *const u16,
    device_num: i32,
    status: StatusTo,
) {
    let context = arch::context();
    let call = Call {
        func,
        // SAFETY: the caller's promise.
        args: unsafe { Args::new(count, addrs, sizes, kinds) },
        device_num,
        // Lanes of a warp claim together.
        hint: context.global() / arch::warp_size(),
        launch: context.launch,
        spaces: Spaces::here(),
    };
    // SAFETY: the caller's promise.
    unsafe { status.write(W::call(&RUNTIME, call)) };
}

/// The table of wires, and what is made of it. Not a table of functions: a call
/// through a pointer hides a kernel's stack and registers from GPU compilers.
macro_rules! wires {
    ($($wire:ty),* $(,)?) => {
        /// The bits of all wires, as [`ImageInfo`](shared_abi::image::ImageInfo)
        /// has them.
        pub(crate) const BITS: u32 = 0 $(| <$wire as Wire>::KIND.bit())*;

        /// Makes a call on the wire `kind`, which the host chose, if it chose one.
        ///
        /// # Safety
        /// As for [`StatusTo::write`].
        #[inline]
        pub(crate) unsafe fn call(
            kind: WireKind,
            func: u64,
            args: Args,
            device_num: i32,
            status: StatusTo,
        ) {
            let (count, addrs, sizes, kinds) = args.into_parts();
            // SAFETY: the caller's promise, and the parts of an `Args`.
            unsafe {
                match kind {
                    $(<$wire as Wire>::KIND => call_on::<$wire>(
                        func, count, addrs, sizes, kinds, device_num, status,
                    ),)*
                    _ => status.write(Status::NOT_OFFLOADED),
                }
            }
        }
    };
}

wires! {
    native::Native,
    gcc_ring::Ring,
    gcn_queue::Queue,
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
