//! device-rt as one linkable piece, for images written in other languages: built
//! as a static library, it defines `GOMP_target_ext`, the variables that the host
//! looks for, and a panic handler. shared-abi/include/revoff.h is its header.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(used_with_arg)
)]

revoff_device::image!(
    #[cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), used(linker))]
);
