//! The platform layer's calls to the host.

// The overlay's file: it has all functions that the platform layer calls.
#[macro_use]
#[path = "../overlay/std/src/sys/pal/revoff/calls.rs"]
#[allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "it is written for the platform layer"
)]
mod declared;

use core::mem::offset_of;

use device_rt::arch;
use std_calls::{FileStatus, FileTimes, SocketAddress};

/// The error number of a call that did not reach its host function, or that this one did not
/// complete: EIO.
const FAILED: i64 = std_calls::error(5);

/// The result of a call that failed on its way.
trait Failed {
    const FAILED: Self;
}

impl Failed for i64 {
    const FAILED: Self = FAILED;
}

impl Failed for u32 {
    const FAILED: Self = 0;
}

macro_rules! define {
    ($(fn $name:ident($($parameter:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            fn $name($($parameter: $ty),*) -> $result {
                std_calls::$name($($parameter),*).unwrap_or(<$result as Failed>::FAILED)
            }
        )*
    };
}

for_each_call!(define);

// The platform layer has types of its own, since std has no dependency on `std-calls`.
const _: () = {
    assert!(size_of::<FileStatus>() == size_of::<declared::FileStatus>());
    assert!(offset_of!(FileStatus, size) == offset_of!(declared::FileStatus, size));
    assert!(offset_of!(FileStatus, modified) == offset_of!(declared::FileStatus, modified));
    assert!(offset_of!(FileStatus, accessed) == offset_of!(declared::FileStatus, accessed));
    assert!(offset_of!(FileStatus, created) == offset_of!(declared::FileStatus, created));
    assert!(offset_of!(FileStatus, mode) == offset_of!(declared::FileStatus, mode));
    assert!(offset_of!(FileStatus, kind) == offset_of!(declared::FileStatus, kind));
    assert!(size_of::<FileTimes>() == size_of::<declared::FileTimes>());
    assert!(offset_of!(FileTimes, accessed) == offset_of!(declared::FileTimes, accessed));
    assert!(offset_of!(FileTimes, modified) == offset_of!(declared::FileTimes, modified));
    assert!(size_of::<SocketAddress>() == size_of::<declared::SocketAddress>());
    assert!(offset_of!(SocketAddress, ip) == offset_of!(declared::SocketAddress, ip));
    assert!(offset_of!(SocketAddress, flow_info) == offset_of!(declared::SocketAddress, flow_info));
    assert!(offset_of!(SocketAddress, scope_id) == offset_of!(declared::SocketAddress, scope_id));
    assert!(offset_of!(SocketAddress, port) == offset_of!(declared::SocketAddress, port));
    assert!(offset_of!(SocketAddress, version) == offset_of!(declared::SocketAddress, version));
    assert!(std_calls::LOOKUP_FAILED == declared::LOOKUP_FAILED);
    assert!(std_calls::NO_TIME == declared::NO_TIME);
};

/// The functions that run on the device.
macro_rules! check_signatures {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(const _: fn($($ty),*) -> $result = device::$name;)*
    };
}

for_each_device_function!(check_signatures);

mod device {
    pub(super) use super::{std_abort, std_exit, std_monotonic_time, std_pause};
    pub(super) use crate::heap::{std_alloc, std_dealloc, std_realloc};
    pub(super) use crate::threads::{std_spawn, std_thread, std_threads};
}

#[unsafe(no_mangle)]
pub(crate) fn std_monotonic_time() -> u64 {
    arch::clock()
}

#[unsafe(no_mangle)]
pub(crate) fn std_pause(attempt: u32) {
    arch::pause(attempt);
}

#[unsafe(no_mangle)]
pub(crate) fn std_exit(status: i32) -> ! {
    // The host has nothing to answer; if it cannot be reached, the trap reports a failure.
    let _ = std_calls::std_exit(status);
    arch::trap("the program has ended")
}

#[unsafe(no_mangle)]
pub(crate) fn std_abort() -> ! {
    /// The number of SIGABRT, as a shell reports it.
    const ABORTED: i32 = 128 + 6;
    std_exit(ABORTED)
}

/// Reports that the calling thread needs more stack than it has. Called by code that the builder of
/// images inserts (image-build/src/program/stack.rs); a part of the stack is left for this.
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn std_stack_overflow() {
    const MESSAGE: &str =
        "\nfatal runtime error: stack overflow, aborting (--stack sets its size)\n";
    let _ = std_calls::std_write(2, MESSAGE.as_bytes());
    std_abort()
}
