//! `GOMP_target_ext`: where every reverse-offload call of an image starts.

use core::ffi::{c_int, c_uint, c_ushort, c_void};

use shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use shared_abi::status::Status;

use crate::arch::{self, Spaces};
use crate::carry::Args;
use crate::runtime::RUNTIME;
use crate::wire::{self, Call};

/// Calls a function on the host and waits for it: libgomp's entry point for
/// `target` constructs, as a device implements it.
///
/// Returns without doing anything unless `device` is
/// [`GOMP_DEVICE_HOST_FALLBACK`], `func` is not null and the host gave this
/// image a wire. `depend` is ignored, as are `flags` and `args` except that with
/// [`REVOFF_FLAG_STATUS`] in `flags`, `args` points to a `u32` that receives the
/// call's [`Status`].
///
/// # Safety
/// `hostaddrs`, `sizes` and `kinds` are readable for `mapnum` elements, and the
/// range of every entry for what its kind says. With [`REVOFF_FLAG_STATUS`],
/// `args` points to a writable, aligned `u32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_ext(
    device: c_int,
    func: *mut c_void,
    mapnum: usize,
    hostaddrs: *mut *mut c_void,
    sizes: *mut usize,
    kinds: *mut c_ushort,
    flags: c_uint,
    _depend: *mut *mut c_void,
    args: *mut *mut c_void,
) {
    let status = if device == GOMP_DEVICE_HOST_FALLBACK && !func.is_null() {
        // SAFETY: the caller vouches for the arrays; on every target of this
        // crate pointers and `usize` are 64 bits wide.
        let arguments = unsafe { Args::new(mapnum, hostaddrs.cast(), sizes.cast(), kinds.cast()) };
        call_host(func as u64, arguments)
    } else {
        Status::NOT_OFFLOADED
    };
    if flags & REVOFF_FLAG_STATUS != 0 {
        // SAFETY: the caller vouches for the word.
        unsafe { args.cast::<u32>().write(status.0) };
    }
}

fn call_host(func: u64, args: Args) -> Status {
    let context = arch::context();
    let call = Call {
        func,
        args,
        hint: context.global(),
        launch: context.launch,
        spaces: Spaces::here(),
    };
    wire::call(&RUNTIME.get(), call)
}

const _: () = assert!(size_of::<usize>() == 8 && size_of::<*mut c_void>() == 8);
