//! The device side of reverse offload.
//!
//! Link this crate into a device image and its kernels can call functions on the
//! host: through `GOMP_target_ext`, which compilers emit for OpenMP's
//! `target device(ancestor:1)`, or through the typed functions of `host-fn`,
//! which lower to it.
//!
//! ```ignore
//! #![no_std]
//! device_rt::image!();
//!
//! #[device_rt::kernel]
//! pub fn greet(times: u32) {
//!     for n in 0..times {
//!         let _ = calls::say_hello(n); // declared with host_fn::host_functions!
//!     }
//! }
//! ```
//!
//! | module | job |
//! |---|---|
//! | [`target_ext`] | `GOMP_target_ext`: early returns, then a call on the wire |
//! | [`wire`] | the wires: a producer each, the calls on them, their table |
//! | [`carry`] | which bytes a request on `native` carries |
//! | `gcc_carry` | which bytes a request on GCC's wires carries, and the copying |
//! | [`bounce`], [`claims`] | device-scope ownership of bounce runs and slots |
//! | [`arch`] | everything that depends on the target |
//! | [`runtime`] | the variables that the host writes |
//! | [`thread`](mod@thread) | which thread of which team runs |

#![no_std]

pub mod arch;
pub mod bounce;
pub mod carry;
pub mod claims;
mod gcc_carry;
mod panic;
pub mod runtime;
pub mod target_ext;
pub mod thread;
pub mod wire;

pub use panic::panicked;
pub use revoff_macros::kernel;
pub use shared_abi;

/// Makes the crate that calls it a device image: defines the panic handler.
///
/// A panic in a kernel ends the launch with an error that carries the message.
#[macro_export]
macro_rules! image {
    () => {
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
