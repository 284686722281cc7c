//! A kernel that never calls the host, in an image that could.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

pub mod kernel;

revoff_device::image!();
