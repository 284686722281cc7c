#![no_std]
#![cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), feature(abi_gpu_kernel))]

use calls::{Sum, read_chunk};
use revoff_device::thread;

revoff_device::image!();

#[revoff_device::kernel(Sum)]
pub fn sum(total: *mut u64) {
    if thread::global() != 0 {
        return;
    }
    let (mut buffer, mut offset) = ([0u8; 4096], 0);
    while let Ok(n @ 1..) = read_chunk(offset, &mut buffer) {
        offset += u64::from(n);
        for &byte in &buffer[..n as usize] {
            unsafe { *total += u64::from(byte) }; // SAFETY: no other thread uses it.
        }
    }
}
