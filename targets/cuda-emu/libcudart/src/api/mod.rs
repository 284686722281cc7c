//! The functions.
//!
//! | file | job |
//! |---|---|
//! | `compiler` | functions that compilers call |
//! | `error` | errors |
//! | `device`, `properties` | devices, profiling, functions of the driver |
//! | `memory`, `copy`, `symbol`, `array` | memory |
//! | `stream`, `event` | streams and events |
//! | `launch`, `function` | kernels |
//! | `unsupported` | functions that are not supported |

pub mod array;
pub mod compiler;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod function;
pub mod launch;
pub mod memory;
pub mod properties;
pub mod stream;
pub mod symbol;
pub mod unsupported;

use crate::driver::Driver;
use crate::error::CudaResult;

/// The legacy default stream.
pub(crate) const LEGACY: u64 = 1;
/// The default stream of the calling thread. In functions whose names end with `_ptsz` or `_ptds`, to which
/// `nvcc --default-stream per-thread` renames calls, a stream of 0 means this one.
pub(crate) const PER_THREAD: u64 = 2;

/// The stream that a handle names; `default` is that of 0.
pub(crate) fn or_default(stream: u64, default: u64) -> u64 {
    if stream == 0 { default } else { stream }
}

/// Waits for the end of what was queued in a stream.
pub(crate) fn finish(driver: &Driver, queued: CudaResult, stream: u64) -> CudaResult {
    queued?;
    driver.cuStreamSynchronize(stream)
}

/// A function that uses a device: its body gets the driver, with a current context.
macro_rules! in_current_context {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) $driver:pat_param, $body:expr) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            crate::result::to_c(|| {
                let $driver = crate::context::in_context()?;
                $body
            })
        }
    };
}

/// Functions that use a device.
macro_rules! api {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),* $(,)?) |$driver:pat_param| $body:expr;
    )*) => {$(
        crate::api::in_current_context!($(#[$doc])* $name($($arg: $type),*) $driver, $body);
    )*};
}

/// Functions with a default stream, under both names: their bodies get that stream, too.
macro_rules! streamed {
    ($(
        $(#[$doc:meta])*
        fn $name:ident, $per_thread:ident($($arg:ident: $type:ty),* $(,)?) |$driver:ident, $default:ident| $body:expr;
    )*) => {$(
        crate::api::in_current_context!($(#[$doc])* $name($($arg: $type),*) $driver, {
            let $default = crate::api::LEGACY;
            $body
        });
        crate::api::in_current_context!($(#[$doc])* $per_thread($($arg: $type),*) $driver, {
            let $default = crate::api::PER_THREAD;
            $body
        });
    )*};
}

pub(crate) use {api, in_current_context, streamed};
