//! What device code must not do: the compiler's own atomics on a word that the host
//! shares. LLVM makes relaxed read-modify-writes at device scope of these for NVIDIA.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use core::sync::atomic::{AtomicU32, Ordering};

device_rt::image!();

/// Adds to a word of the host's.
///
/// # Safety
/// `word` is a word that only atomics touch.
#[device_rt::kernel]
pub unsafe fn planted(word: *mut u32) {
    // SAFETY: the launcher provides the word.
    let word = unsafe { AtomicU32::from_ptr(word) };
    word.fetch_add(1, Ordering::AcqRel);
}
