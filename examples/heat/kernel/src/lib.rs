//! A kernel that lets heat flow along a ring.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use revoff_device::thread;

revoff_device::image!();

/// One step of a block of `count` cells: `to` from `from` and the blocks before and after it.
///
/// # Safety
/// All have `count` cells, at least one; no other thread uses those of `to`.
#[revoff_device::kernel]
pub unsafe fn flow(
    to: *mut i64,
    before: *const i64,
    from: *const i64,
    after: *const i64,
    count: u64,
) {
    let count = count as usize;
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..count).step_by(threads) {
        // SAFETY: the caller's promise; each thread has its own cells.
        unsafe {
            let here = *from.add(i);
            let left = if i == 0 {
                *before.add(count - 1)
            } else {
                *from.add(i - 1)
            };
            let right = if i + 1 == count {
                *after
            } else {
                *from.add(i + 1)
            };
            // The heat that leaves a cell enters the next: none is lost in rounding.
            *to.add(i) = here + (left - here) / 4 + (right - here) / 4;
        }
    }
}
