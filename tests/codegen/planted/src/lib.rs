//! A planted violation: the compiler's own atomics on a word that the host shares. For NVIDIA, LLVM
//! compiles these to relaxed read-modify-writes at device scope.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use core::sync::atomic::{AtomicU32, Ordering};

revoff_device::image!();

/// Adds to a word of the host.
///
/// # Safety
/// `word` is only accessed by atomics.
#[revoff_device::kernel]
pub unsafe fn planted(word: *mut u32) {
    // SAFETY: the launcher provides the word.
    let word = unsafe { AtomicU32::from_ptr(word) };
    word.fetch_add(1, Ordering::AcqRel);
}
