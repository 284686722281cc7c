//! The device side: the call itself.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr;

use crate::entry::Entry;
use shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_ARGS_ONLY, REVOFF_FLAG_STATUS};
use shared_abi::image::FunctionInfo;
use shared_abi::status::Status;

unsafe extern "C" {
    /// GCC's entry point to reverse offload, with GCC's types. It is defined by `device-rt`, or by
    /// the device runtime of the compiler that made the image.
    fn GOMP_target_ext(
        device: c_int,
        func: *mut c_void,
        mapnum: usize,
        hostaddrs: *mut *mut c_void,
        sizes: *mut usize,
        kinds: *mut u16,
        flags: c_uint,
        depend: *mut *mut c_void,
        args: *mut *mut c_void,
    );
}

/// Calls a host function and waits for it.
///
/// Inlined with its caller, so that only three arrays on the stack remain of the entries.
#[inline(always)]
#[must_use]
pub fn call<const N: usize>(function: &'static FunctionInfo, entries: [Entry<'_>; N]) -> Status {
    let mut addresses = [ptr::null_mut(); N];
    let mut sizes = [0; N];
    let mut kinds = [0; N];
    for (n, entry) in entries.iter().enumerate() {
        addresses[n] = entry.address;
        sizes[n] = entry.size;
        kinds[n] = entry.kind;
    }
    let mut status = Status::NONE.0;
    // SAFETY: the three arrays have `N` elements each. Every entry was made from a reference that
    // is alive until this returns, an exclusive one where the kind lets the host write, and to a
    // `Plain` type, of which any bytes are a value. With `REVOFF_FLAG_STATUS`, `args` points to a
    // `u32`; runtimes that do not know the flag ignore both.
    unsafe {
        GOMP_target_ext(
            GOMP_DEVICE_HOST_FALLBACK,
            ptr::from_ref(function).cast_mut().cast(),
            N,
            addresses.as_mut_ptr(),
            sizes.as_mut_ptr(),
            kinds.as_mut_ptr(),
            REVOFF_FLAG_STATUS | REVOFF_FLAG_ARGS_ONLY,
            ptr::null_mut(),
            (&raw mut status).cast(),
        );
    }
    Status(status)
}
