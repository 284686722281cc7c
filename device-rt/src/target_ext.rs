//! `GOMP_target_ext`: where every reverse-offload call of an image starts.
//!
//! The symbol itself is defined by [`image!`](crate::image!), in the image.

use core::ffi::{c_int, c_uint, c_ushort, c_void};
use core::ptr;

use shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_ARGS_ONLY, REVOFF_FLAG_STATUS};
use shared_abi::status::Status;
use shared_abi::wire::WireKind;

use crate::call::{Args, StatusTo};
use crate::host_written::{Icvs, RUNTIME};
use crate::wire;

/// Calls a function on the host and waits for it: libgomp's entry point for
/// `target` constructs, as a device implements it. Every thread that calls this makes
/// a call of its own.
///
/// Returns without doing anything unless `device` is
/// [`GOMP_DEVICE_HOST_FALLBACK`], `func` is not null and the host gave this
/// image a wire. `depend` is ignored, as are `flags` and `args` except for two flags of ours: with
/// [`REVOFF_FLAG_STATUS`], `args` points to a `u32` that receives the call's [`Status`]; with
/// [`REVOFF_FLAG_ARGS_ONLY`], the call orders no memory but that of its arguments.
///
/// `icvs` is the image's `__gomp_additional_icvs`.
///
/// # Safety
/// `hostaddrs`, `sizes` and `kinds` are readable for `mapnum` elements, and every entry's range is
/// readable or writable as its kind says. With [`REVOFF_FLAG_STATUS`], `args` points to a writable,
/// aligned `u32`.
#[expect(clippy::too_many_arguments, reason = "libgomp's, and one")]
#[inline]
pub unsafe fn target_ext(
    icvs: &Icvs,
    device: c_int,
    func: *mut c_void,
    mapnum: usize,
    hostaddrs: *mut *mut c_void,
    sizes: *mut usize,
    kinds: *mut c_ushort,
    flags: c_uint,
    args: *mut *mut c_void,
) {
    let status = StatusTo::new(if flags & REVOFF_FLAG_STATUS != 0 {
        args.cast()
    } else {
        ptr::null_mut()
    });
    if device != GOMP_DEVICE_HOST_FALLBACK || func.is_null() {
        // SAFETY: the caller vouches for the word.
        return unsafe { status.write(Status::NOT_OFFLOADED) };
    }
    let Ok(count) = u32::try_from(mapnum) else {
        // SAFETY: the caller vouches for the word.
        return unsafe { status.write(Status::REFUSED_MAPPING) };
    };
    // SAFETY: the caller vouches for the arrays and the word; on every target of this
    // crate pointers and `usize` are 64 bits wide.
    unsafe {
        let args = Args::new(count, hostaddrs.cast(), sizes.cast(), kinds.cast());
        let kind = WireKind(RUNTIME.wire_kind());
        let orders_memory = flags & REVOFF_FLAG_ARGS_ONLY == 0;
        let device_num = icvs.get().device_num;
        wire::call(kind, func as u64, args, device_num, orders_memory, status);
    }
}

const _: () = assert!(size_of::<usize>() == 8 && size_of::<*mut c_void>() == 8);
