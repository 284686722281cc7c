//! The producers of the wires, one file per wire: how a device thread claims, publishes and
//! waits, and the call that consists of these.
//!
//! The producers see memory only through the traits of [`shared_abi::words`], so
//! the model checker runs the same code.

#[cfg(feature = "gcc-wires")]
pub mod gcc_ring;
#[cfg(feature = "gcc-wires")]
pub mod gcc_slot;
#[cfg(feature = "gcc-wires")]
pub mod gcn_queue;
pub mod native;
#[cfg(feature = "start")]
pub(crate) mod started;
#[cfg(test)]
mod tests;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;

use crate::arch::{self, Spaces};
use crate::call::{Args, Call, StatusTo};
use crate::host_written::{RUNTIME, RuntimeConfig};

/// A wire to the host.
pub(crate) trait Wire {
    /// The wire's kind, by which the host chooses it.
    const KIND: WireKind;

    /// Makes a call and waits for it, with the configuration that the host wrote. Reports the status
    /// once, perhaps before the results are copied: until then it would occupy registers.
    fn call(runtime: &RuntimeConfig, call: Call, report: impl Fn(Status) + Copy);
}

/// Makes a call on the wire `W` from the calling thread.
///
/// Each wire has a function of its own, and its arguments are scalars that fit the registers of
/// NVIDIA's calling convention: a kernel then needs registers for one wire at a time, and no
/// stack.
///
/// # Safety
/// As for [`StatusTo::write`] and [`Args::new`].
#[expect(clippy::too_many_arguments, reason = "see above")]
#[inline(never)]
unsafe fn call_on<W: Wire>(
    func: u64,
    count: u32,
    addrs: *const u64,
    sizes: *const u64,
    kinds: *const u16,
    device_num: i32,
    orders_memory: bool,
    status: StatusTo,
) {
    let context = arch::context();
    let call = Call {
        func,
        // SAFETY: the caller's promise.
        args: unsafe { Args::new(count, addrs, sizes, kinds) },
        orders_memory,
        device_num,
        // Lanes of a warp claim together.
        home_group: context.global() / arch::warp_size(),
        launch: context.launch,
        spaces: Spaces::current(),
    };
    // SAFETY: the caller's promise.
    W::call(&RUNTIME, call, |result| unsafe { status.write(result) });
}

/// Whether an image has the wire `kind`.
#[inline(always)]
pub(crate) const fn has(kind: WireKind) -> bool {
    BITS & kind.bit() != 0
}

/// The table of wires, and its dispatch. It has no function pointers: they hide a kernel's stack
/// and registers from GPU compilers.
macro_rules! wires {
    ($($wire:ty),* $(,)?) => {
        /// The bits of an image's wires, as [`ImageInfo`](shared_abi::image::ImageInfo)
        /// has them.
        pub(crate) const BITS: u32 = arch::WIRES & (0 $(| <$wire as Wire>::KIND.bit())*);

        /// Makes a call on the wire `kind`, if the host chose one.
        ///
        /// # Safety
        /// As for [`StatusTo::write`].
        #[inline]
        pub(crate) unsafe fn call(
            kind: WireKind,
            func: u64,
            args: Args,
            device_num: i32,
            orders_memory: bool,
            status: StatusTo,
        ) {
            let (count, addrs, sizes, kinds) = args.into_parts();
            // SAFETY: the caller's promise, and the parts of an `Args`.
            unsafe {
                match kind {
                    $(<$wire as Wire>::KIND if has(<$wire as Wire>::KIND) => call_on::<$wire>(
                        func, count, addrs, sizes, kinds, device_num, orders_memory, status,
                    ),)*
                    _ => status.write(Status::NOT_OFFLOADED),
                }
            }
        }
    };
}

#[cfg(not(feature = "gcc-wires"))]
wires! {
    native::Native,
}

#[cfg(feature = "gcc-wires")]
wires! {
    native::Native,
    gcc_ring::Ring,
    gcn_queue::Queue,
    gcc_slot::Single,
}
