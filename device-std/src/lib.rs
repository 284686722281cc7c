//! The device side of Rust's `std`: the functions that the platform layer in `overlay` calls, and the
//! kernel that runs `main`.
//!
//! Every program with `std` is linked with this crate. The host launches teams of one thread each.
//! Thread 0 runs `main`; the others wait until `std::thread` starts one of them.
//!
//! | module | job |
//! |---|---|
//! | `start` | the kernel |
//! | `calls` | the platform layer's calls to the host |
//! | `threads` | idle threads, and how they start |
//! | `wait` | waiting, which the end of the program ends |
//! | `frames` | the calls that led to a place, for backtraces |
//! | `heap` | the allocator |
//! | `random` | random numbers for the crate `getrandom` |

#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

mod calls;
mod frames;
mod heap;
mod random;
mod start;
mod threads;
mod wait;

revoff_device::entry!();
