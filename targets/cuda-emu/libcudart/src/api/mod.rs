//! The functions.
//!
//! | file | job |
//! |---|---|
//! | `compiler` | functions that compilers call |
//! | `error` | errors |
//! | `device`, `properties` | devices |
//! | `memory`, `copy`, `symbol`, `array` | memory |
//! | `stream`, `event` | streams and events |
//! | `launch`, `function` | kernels |
//! | `missing` | functions that are not supported |

pub mod array;
pub mod compiler;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod function;
pub mod launch;
pub mod memory;
pub mod missing;
pub mod properties;
pub mod stream;
pub mod symbol;

/// The legacy default stream, and that of the calling thread. In functions whose names end with `_ptsz` or
/// `_ptds`, to which `nvcc --default-stream per-thread` renames calls, a stream of 0 means the latter.
pub(crate) const LEGACY: u64 = 1;
/// See there.
pub(crate) const PER_THREAD: u64 = 2;

/// The stream that a handle names; `default` is that of 0.
pub(crate) fn or_default(stream: u64, default: u64) -> u64 {
    if stream == 0 { default } else { stream }
}

/// Functions that use a device: their bodies get the driver, with a current context.
macro_rules! api {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),* $(,)?) |$driver:pat_param| $body:expr;
    )*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            crate::thread::answer(|| {
                let $driver = crate::thread::in_context()?;
                $body
            })
        }
    )*};
}

/// Functions with a default stream, under both names: their bodies get the driver and that stream.
macro_rules! streamed {
    ($(
        $(#[$doc:meta])*
        fn $name:ident, $per_thread:ident($($arg:ident: $type:ty),* $(,)?) |$driver:ident, $default:ident| $body:expr;
    )*) => {$(
        streamed!(one $(#[$doc])* $name($($arg: $type),*) $driver, $default, crate::api::LEGACY, $body);
        streamed!(one $(#[$doc])* $per_thread($($arg: $type),*) $driver, $default, crate::api::PER_THREAD, $body);
    )*};
    (
        one $(#[$doc:meta])*
        $name:ident($($arg:ident: $type:ty),*) $driver:ident, $default:ident, $value:expr, $body:expr
    ) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            crate::thread::answer(|| {
                let $driver = crate::thread::in_context()?;
                let $default: u64 = $value;
                $body
            })
        }
    };
}

pub(crate) use {api, streamed};
