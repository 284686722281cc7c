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
use core::sync::atomic::AtomicU32;

use revoff_device::arch;
use std_calls::{ChildStreams, FileStatus, FileTimes, PipeEnds, SocketAddress, StartedChild};

use crate::{heap, threads};

/// The error number of a call that did not reach its host function, or that this one did not
/// complete: EIO.
pub(crate) const FAILED: i64 = std_calls::error(5);

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

/// Checks that types of the platform layer are those of `std-calls`: std has no dependency on it.
macro_rules! check_layouts {
    ($($ty:ident { $($field:ident),* })*) => {
        $(const _: () = {
            assert!(size_of::<std_calls::$ty>() == size_of::<declared::$ty>());
            $(assert!(offset_of!(std_calls::$ty, $field) == offset_of!(declared::$ty, $field));)*
        };)*
    };
}

check_layouts! {
    FileStatus { size, modified, accessed, created, mode, kind }
    FileTimes { accessed, modified }
    SocketAddress { ip, flow_info, scope_id, port, version }
    PipeEnds { reader, writer }
    ChildStreams { stdin, stdout, stderr }
    StartedChild { child, id, stdin, stdout, stderr }
}

/// The same for constants.
macro_rules! check_constants {
    ($($first:ident $(:: $rest:ident)*;)*) => {
        $(const _: () = assert!(std_calls::$first$(::$rest)* == declared::$first$(::$rest)*);)*
    };
}

check_constants! {
    FileStatus::FILE;
    FileStatus::DIRECTORY;
    FileStatus::LINK;
    SocketAddress::V4;
    SocketAddress::V6;
    ChildStreams::NULL;
    ChildStreams::PIPE;
}

/// The functions that run on the device.
macro_rules! check_signatures {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(const _: fn($($ty),*) -> $result = device::$name;)*
    };
}

for_each_device_function!(check_signatures);

macro_rules! check_unsafe_signatures {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(const _: unsafe fn($($ty),*) -> $result = device::$name;)*
    };
}

for_each_unsafe_device_function!(check_unsafe_signatures);

mod device {
    pub(super) use super::{std_abort, std_exit, std_monotonic_time};
    pub(super) use crate::frames::std_trace;
    pub(super) use crate::heap::{std_alloc, std_dealloc, std_realloc};
    pub(super) use crate::threads::{std_spawn, std_thread, std_threads};
    pub(super) use crate::wait::{std_pause, std_wait, std_wake};
}

#[unsafe(no_mangle)]
pub(crate) fn std_monotonic_time() -> u64 {
    arch::clock()
}

#[unsafe(no_mangle)]
pub(crate) fn std_exit(status: i32) -> ! {
    heap::report();
    // The host has nothing to answer; if it cannot be reached, the trap reports a failure.
    let _ = std_calls::std_exit(status);
    threads::stop()
}

#[unsafe(no_mangle)]
pub(crate) fn std_abort() -> ! {
    /// The number of SIGABRT, as a shell reports it.
    const ABORTED: i32 = 128 + 6;
    std_exit(ABORTED)
}

/// Reports that the calling thread needs more stack than it has. Called by code that the builder of
/// images inserts (image-build/src/program/stack); a part of the stack is left for this.
#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn std_stack_overflow() {
    const MESSAGE: &str =
        "\nfatal runtime error: stack overflow, aborting (--stack sets its size)\n";
    let _ = std_calls::std_write(2, MESSAGE.as_bytes());
    std_abort()
}
