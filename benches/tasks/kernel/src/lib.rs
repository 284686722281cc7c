//! Small kernels for the benchmark of tasks.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use revoff_device::thread;

revoff_device::image!();

/// `to[i] = 3 to[i] + before[i] + after[i]`, wrapping.
///
/// # Safety
/// All have `count` words; no other thread uses those of `to`.
#[revoff_device::kernel]
pub unsafe fn mix(to: *mut u64, before: *const u64, after: *const u64, count: u64) {
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..count as usize).step_by(threads) {
        // SAFETY: the caller's promise; each thread has elements of its own.
        unsafe {
            let sum = (*before.add(i)).wrapping_add(*after.add(i));
            *to.add(i) = (*to.add(i)).wrapping_mul(3).wrapping_add(sum);
        }
    }
}
