//! A kernel that hashes files which it reads through its host.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use digest_calls::{FAILED, NONE, next_file, read_chunk, report};
use revoff_device::thread;
use sha2::{Digest, Sha256};

revoff_device::image!();

/// Hashes files until the host has no more.
///
/// Thread `i` uses the `chunk` bytes from `buffers + i * chunk` on. It writes the duration of each
/// call, in nanoseconds, to its `samples` words from `times + i * samples` on, cyclically, and the
/// number of calls to `counts[i]`.
///
/// # Safety
/// The memory exists, for all threads.
#[revoff_device::kernel]
pub unsafe fn digest(
    buffers: *mut u8,
    chunk: u64,
    times: *mut u32,
    samples: u64,
    counts: *mut u64,
) {
    let me = thread::global() as usize;
    // SAFETY: the launcher provides this memory, with a separate part for each thread.
    let (buffer, times, count) = unsafe {
        (
            core::slice::from_raw_parts_mut(buffers.add(me * chunk as usize), chunk as usize),
            core::slice::from_raw_parts_mut(times.add(me * samples as usize), samples as usize),
            &mut *counts.add(me),
        )
    };
    let mut clock = Clock { times, count };

    while let Ok(file) = clock.time(next_file) {
        if file == NONE {
            return;
        }
        let mut hash = Sha256::new();
        loop {
            let Ok(n) = clock.time(|| read_chunk(file, buffer)) else {
                return;
            };
            if n == FAILED {
                break;
            }
            hash.update(&buffer[..n as usize]);
            if (n as u64) < chunk {
                let digest: [u8; 32] = hash.finalize().into();
                if clock.time(|| report(file, &digest)).is_err() {
                    return;
                }
                break;
            }
        }
    }
}

/// Times calls.
struct Clock<'a> {
    times: &'a mut [u32],
    count: &'a mut u64,
}

impl Clock<'_> {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let start = thread::clock();
        let result = call();
        let time = thread::clock().wrapping_sub(start);
        let at = (*self.count % self.times.len() as u64) as usize;
        self.times[at] = u32::try_from(time).unwrap_or(u32::MAX);
        *self.count += 1;
        result
    }
}
