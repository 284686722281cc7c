//! The device side of reverse offload.
//!
//! Link this crate into a device image and its kernels can call functions on the
//! host: through `GOMP_target_ext`, which compilers emit for OpenMP's
//! `target device(ancestor:1)`, or through the typed functions of `host-fn`,
//! which lower to it.
//!
//! ```ignore
//! #![no_std]
//! revoff_device::image!();
//!
//! #[revoff_device::kernel]
//! pub fn greet(times: u32) {
//!     for n in 0..times {
//!         let _ = calls::say_hello(n); // declared with revoff_fn::host_functions!
//!     }
//! }
//! ```
//!
//! Modules import only from modules below their own row:
//!
//! | module | job |
//! |---|---|
//! | [`panic`](mod@panic) | the panic handler |
//! | [`image`](mod@image) | the description of the image that the host reads |
//! | [`thread`](mod@thread) | indices of the calling thread, and its fence |
//! | `macros` | [`println!`], [`dbg!`](crate::dbg!), [`assert!`](crate::assert!) and their relatives |
//! | [`assertion`] | failed assertions |
//! | `log` (feature `log`) | records of the crate `log` for the host's log |
//! | [`print`](mod@print) | text and numbers for the host to print |
//! | `pieces` | formatting a text in pieces |
//! | `start` (feature `start`) | calls that do not block |
//! | [`target_ext`](mod@target_ext) | `GOMP_target_ext`: early returns, then a call on the wire |
//! | [`wire`] | the wires: a producer each, the calls on them, their table |
//! | [`wake`] | waking a host that sleeps |
//! | [`marshal`] | copies argument data that the host cannot reach, on `native` and on GCC's wires |
//! | [`call`] | a call to the host: its arguments, and the destination of its status |
//! | [`bounce`], [`claims`] | device-scope ownership of bounce extents and slots |
//! | [`lanes`] | warp operations |
//! | `memory` | functions of C's library that LLVM calls, on GPUs |
//! | [`arch`] | everything that depends on the target |
//! | `panic_record` | the record of a panic's location on AMD GPUs |
//! | [`host_written`] | the variables that the host writes |
//!
//! An image uses the wire `native`. With the feature `gcc-wires`, for tests and benchmarks, it also
//! contains the producers of GCC's wires between its processor and a host.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    allow(
        internal_features,
        reason = "the intrinsics of the target have no other name"
    ),
    feature(
        asm_experimental_arch,
        link_llvm_intrinsics,
        stdarch_nvptx,
        used_with_arg
    )
)]
#![cfg_attr(
    target_arch = "amdgpu",
    allow(
        internal_features,
        reason = "the intrinsics of the target have no other name"
    ),
    feature(
        core_intrinsics,
        gpu_intrinsics,
        link_llvm_intrinsics,
        stdarch_amdgpu,
        used_with_arg
    )
)]

pub mod arch;
pub mod assertion;
pub mod bounce;
pub mod call;
pub mod claims;
pub mod host_written;
pub mod image;
pub mod lanes;
#[cfg(feature = "log")]
pub mod log;
mod macros;
pub mod marshal;
#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
mod memory;
pub mod panic;
#[cfg(not(target_arch = "nvptx64"))]
pub mod panic_record;
mod pieces;
pub mod print;

#[cfg(feature = "start")]
mod start;
pub mod target_ext;
pub mod thread;
pub mod wake;
pub mod wire;

pub use panic::panicked;
pub use revoff_macros::kernel;
pub use shared_abi;

/// Makes the calling crate a device image: defines `GOMP_target_ext`, the control variables and the
/// panic handler.
///
/// A panic in a kernel ends the launch with an error: on `host` the error has the message, on GPUs
/// the location in the source.
///
/// The attributes given to the macro apply to the control variables. An image that is linked as
/// bitcode passes `used(linker)` (see [`host_written`]), which the macro cannot use by itself in stable
/// Rust.
#[macro_export]
macro_rules! image {
    ($(#[$attribute:meta])*) => {
        $crate::entry!($(#[$attribute])*);
        $crate::panic_handler!();
    };
}

/// As [`image!`], without the panic handler, for a crate that is linked with `std`.
#[macro_export]
macro_rules! entry {
    ($(#[$attribute:meta])*) => {
        /// The control variables of OpenMP, which the host writes.
        #[unsafe(no_mangle)]
        $(#[$attribute])*
        static __gomp_additional_icvs: $crate::host_written::Icvs = $crate::host_written::Icvs::unset();

        /// See [`revoff_device::target_ext`].
        ///
        /// # Safety
        /// As for [`revoff_device::target_ext::target_ext`].
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub(crate) unsafe extern "C" fn GOMP_target_ext(
            device: ::core::ffi::c_int,
            func: *mut ::core::ffi::c_void,
            mapnum: usize,
            hostaddrs: *mut *mut ::core::ffi::c_void,
            sizes: *mut usize,
            kinds: *mut ::core::ffi::c_ushort,
            flags: ::core::ffi::c_uint,
            _depend: *mut *mut ::core::ffi::c_void,
            args: *mut *mut ::core::ffi::c_void,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                $crate::target_ext::target_ext(
                    &__gomp_additional_icvs,
                    device,
                    func,
                    mapnum,
                    hostaddrs,
                    sizes,
                    kinds,
                    flags,
                    args,
                )
            }
        }
    };
}

/// Defines the panic handler alone, for a crate that defines `GOMP_target_ext` itself.
///
/// Only where panics abort, as in all images: a check of a whole workspace may select features by which
/// a dependency of the crate uses `std`, which has a panic handler too.
#[macro_export]
macro_rules! panic_handler {
    () => {
        #[cfg(panic = "abort")]
        #[panic_handler]
        fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::panicked(info)
        }

        $crate::__image_personality!();
    };
}

/// The prebuilt `core` of a host target refers to an unwinder's personality even
/// though images are built with `panic=abort`; nothing calls it.
#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __image_personality {
    () => {
        #[unsafe(no_mangle)]
        extern "C" fn rust_eh_personality() {}
    };
}

#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __image_personality {
    () => {};
}
