//! The kernel of `quiet`, in an image that cannot call the host.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

#[path = "../../quiet/src/kernel.rs"]
pub mod kernel;

revoff_device::panic_handler!();
