//! The package `revoff-device`, with the producers of GCC's wires: for the suite's images in C, and to
//! examine the code of the producers.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(used_with_arg)
)]

revoff_device::image!(
    #[cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), used(linker))]
);
