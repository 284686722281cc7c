//! The common code of libgomp's plugins for NVIDIA and AMD GPUs: all functions that libgomp calls,
//! over [`revoff_host`]. A plugin is a shared object that consists of this crate and one [`Kind`].
//!
//! It supports only OpenMP, and not OpenACC, as `GOMP_OFFLOAD_get_caps` reports to libgomp.
//!
//! Modules import only from modules below their own row:
//!
//! | module | job |
//! |---|---|
//! | `entry` | the functions that libgomp calls, which [`plugin!`] exports |
//! | [`region`] | launching a target region |
//! | `plugin` | the devices, by number, and their images |
//! | `load` | loading an image, and the tables for libgomp |
//! | `reverse` | calling host regions |
//! | `abort` | reporting the host region that aborted the process |
//! | `keep_loaded` | keeping shared objects with images loaded |
//! | `choice` | the choice of devices |
//! | [`settings`] | environment variables |
//! | [`image`] | the common parts of descriptions of images |
//! | [`libgomp`] | libgomp's functions that are called here |
//! | [`kind`] | the differences between plugins |
//! | [`launch`] | a launch: its requested grid, its end |
//! | [`device`] | a device and its memory |
//! | `block_cache` | reuse of memory by launches |
//! | `requires` | the requirements of a program |
//! | [`error`] | the errors |
//!
//! Source of the protocol: libgomp's `libgomp-plugin.h` and `target.c` of GCC 13 to 16; read
//! for layouts and behaviour.

mod abort;
mod block_cache;
mod choice;
pub mod device;
#[doc(hidden)]
pub mod entry;
pub mod error;
pub mod image;
mod keep_loaded;
pub mod kind;
pub mod launch;
pub mod libgomp;
mod load;
mod plugin;
pub mod region;
mod requires;
mod reverse;
pub mod settings;

pub use block_cache::CachedBlock;
pub use device::Device;
pub use error::{Error, Result};
pub use kind::{Code, Function, Gpu, Kernels, Kind};

/// The functions that libgomp, from GCC 13 to 16, looks up in a plugin for OpenMP, and optional
/// ones that exist here.
///
/// Each plugin is a crate that exports them by this macro, for its [`Kind`], and
/// exports nothing else, so that two plugins in a process have no conflicting symbols.
#[macro_export]
macro_rules! plugin {
    ($kind:expr) => {
        const _: () = {
            use std::ffi::{c_char, c_int, c_uint, c_void};
            static KIND: $crate::Kind = $kind;
            $crate::export! { KIND:
                fn GOMP_OFFLOAD_alloc(ord: c_int, size: usize) -> *mut c_void;
                fn GOMP_OFFLOAD_async_run(
                    ord: c_int, tgt_fn: *mut c_void, tgt_vars: *mut c_void,
                    args: *mut *mut c_void, async_data: *mut c_void
                );
                fn GOMP_OFFLOAD_can_run(function: *mut c_void) -> bool;
                fn GOMP_OFFLOAD_dev2dev(
                    ord: c_int, dst: *mut c_void, src: *const c_void, n: usize
                ) -> bool;
                fn GOMP_OFFLOAD_dev2host(
                    ord: c_int, dst: *mut c_void, src: *const c_void, n: usize
                ) -> bool;
                fn GOMP_OFFLOAD_fini_device(ord: c_int) -> bool;
                fn GOMP_OFFLOAD_free(ord: c_int, ptr: *mut c_void) -> bool;
                fn GOMP_OFFLOAD_get_caps() -> c_uint;
                fn GOMP_OFFLOAD_get_name() -> *const c_char;
                fn GOMP_OFFLOAD_get_num_devices(requires: c_uint) -> c_int;
                fn GOMP_OFFLOAD_get_type() -> c_int;
                fn GOMP_OFFLOAD_get_uid(ord: c_int) -> *const c_char;
                fn GOMP_OFFLOAD_host2dev(
                    ord: c_int, dst: *mut c_void, src: *const c_void, n: usize
                ) -> bool;
                fn GOMP_OFFLOAD_init_device(ord: c_int) -> bool;
                fn GOMP_OFFLOAD_is_accessible_ptr(
                    ord: c_int, ptr: *const c_void, size: usize
                ) -> c_int;
                fn GOMP_OFFLOAD_load_image(
                    ord: c_int, version: c_uint, target_data: *const c_void,
                    target_table: *mut *mut c_void, rev_fn_table: *mut *mut u64,
                    host_ind_fn_table: *const u64
                ) -> c_int;
                fn GOMP_OFFLOAD_memset(ord: c_int, ptr: *mut c_void, val: c_int, n: usize) -> bool;
                fn GOMP_OFFLOAD_run(
                    ord: c_int, tgt_fn: *mut c_void, tgt_vars: *mut c_void, args: *mut *mut c_void
                );
                fn GOMP_OFFLOAD_unload_image(
                    ord: c_int, version: c_uint, target_data: *const c_void
                ) -> bool;
                fn GOMP_OFFLOAD_version() -> c_uint;
            }
        };
    };
}

/// Exports functions of `entry` by their names, for a kind.
#[doc(hidden)]
#[macro_export]
macro_rules! export {
    ($kind:ident: $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $result)? {
            $crate::kind::set(&$kind);
            // SAFETY: libgomp's call, passed on as it is.
            #[allow(unused_unsafe, reason = "some are safe")]
            unsafe { $crate::entry::$name($($arg),*) }
        }
    )*};
}
