//! A kernel of `revoff bench` in an image without the runtime.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

mod arithmetic;

use core::panic::PanicInfo;

/// Nothing here panics.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// See [`arithmetic::run`].
///
/// # Safety
/// `seed` is not 0.
#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn arithmetic(steps: u64, seed: u64, out: *mut u64) {
    // SAFETY: the launcher's promise.
    unsafe { arithmetic::run(steps, seed, out) };
}

/// See [`arithmetic::run`], with parameters as the `host` device passes them.
///
/// # Safety
/// `params[i]` points to the value of parameter `i`; `seed` is not 0.
#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arithmetic(params: *const *const core::ffi::c_void) {
    // SAFETY: the launcher's promise.
    unsafe {
        let steps = (*params).cast::<u64>().read_unaligned();
        let seed = (*params.add(1)).cast::<u64>().read_unaligned();
        let out = (*params.add(2)).cast::<*mut u64>().read_unaligned();
        arithmetic::run(steps, seed, out);
    }
}
