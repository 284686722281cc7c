//! The unchanged digest kernel, with its input in device memory instead of from the host: the same
//! kernel without calls.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

// The kernel takes its functions from a crate of this name.
extern crate self as digest_calls;

#[path = "../../../../examples/digest/kernel/src/lib.rs"]
#[expect(unused_attributes, reason = "the file is the root of a crate")]
pub mod kernel;

use core::fmt::Error;

/// No file.
pub const NONE: u32 = u32::MAX;

/// The file could not be read.
pub const FAILED: u32 = u32::MAX;

/// Replaces the host. Mutable, so that no compiler knows the contents.
static mut FILES: [u8; 4096] = [0; 4096];

fn at(index: usize) -> *mut u8 {
    (&raw mut FILES).cast::<u8>().wrapping_add(index % 4096)
}

/// The next number.
///
/// # Errors
/// None.
pub fn next_file() -> Result<u32, Error> {
    // SAFETY: within `FILES`, which is only accessed by volatile accesses.
    Ok(u32::from(unsafe { at(0).read_volatile() }))
}

/// Some bytes.
///
/// # Errors
/// None.
pub fn read_chunk(file: u32, buffer: &mut [u8]) -> Result<u32, Error> {
    for (index, byte) in buffer.iter_mut().enumerate() {
        // SAFETY: `at` stays within `FILES`, which is only accessed by volatile accesses.
        *byte = unsafe { at(index + file as usize).read_volatile() };
    }
    Ok(buffer.len() as u32)
}

/// Keeps the digest.
///
/// # Errors
/// None.
pub fn report(file: u32, digest: &[u8; 32]) -> Result<(), Error> {
    for (index, byte) in digest.iter().enumerate() {
        // SAFETY: `at` stays within `FILES`, which is only accessed by volatile accesses.
        unsafe { at(index + file as usize).write_volatile(*byte) };
    }
    Ok(())
}
