//! The kernels of the conformance suite.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

pub mod act;
pub mod forge;
pub mod forms;
pub mod launch;
// The crate `log` needs atomics with an order, which older GPUs lack.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_70"))]
pub mod logging;
pub mod own_queue;
pub mod print;
pub mod random_writes;
pub mod raw;
pub mod start;
pub mod tasks;

revoff_device::image!();
