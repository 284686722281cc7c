//! device-rt as a linkable piece for images that GCC compiles (`-foffload=nvptx-none`).
//!
//! In GCC's OpenMP code for NVIDIA a warp is one thread of the program: all 32 lanes run the same
//! code with the same values, and all of them call `GOMP_target_ext`. Here one of them makes the
//! call. In a `simd` loop each lane is a thread and makes its own call. The control variables
//! belong to GCC's libgomp.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, stdarch_nvptx))]

mod uniform;

use core::ffi::{c_int, c_uint, c_ushort, c_void};

use revoff_device::host_written::Icvs;
use revoff_device::lanes;
use revoff_device::target_ext::target_ext;

unsafe extern "C" {
    /// Defined by libgomp.
    static __gomp_additional_icvs: Icvs;
}

/// Calls a function on the host and waits for it: once for the warp that calls this, or
/// in a `simd` loop for each lane.
///
/// # Safety
/// As for [`target_ext`]; and outside `simd` loops all lanes of the warp call this.
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
    let call = || {
        // SAFETY: the caller's promise. The variable is defined in libgomp's archive, with
        // the layout of `Icvs`, and written before kernels run.
        unsafe {
            target_ext(
                &__gomp_additional_icvs,
                device,
                func,
                mapnum,
                hostaddrs,
                sizes,
                kinds,
                flags,
                args,
            );
        }
    };
    if uniform::lanes_are_threads() {
        return call();
    }
    // SAFETY: outside `simd` loops, all lanes of a warp run all of GCC's code.
    unsafe { lanes::once_per_warp(call) };
}

revoff_device::panic_handler!();
