//! Memory that two GPUs reach, and what frees it.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Duration;

use cudarc::driver::sys::CUresult::*;

use crate::gpu::{Gpu, cu, is, works};

/// Delays a stream, so that what is queued next runs after the function under test was called.
fn delay(stream: u64) {
    extern "C" fn sleep(_: *mut c_void) {
        std::thread::sleep(Duration::from_millis(100));
    }
    works(cu!(cuLaunchHostFunc(
        stream => u64, sleep => extern "C" fn(*mut c_void), null_mut() => *mut c_void
    )));
}

fn register(word: *mut u64) {
    works(cu!(cuMemHostRegister_v2(word => *mut u64, 8 => usize, 0 => u32)));
}

#[test]
fn the_context_that_owns_memory_frees_it() {
    let (one, two) = (Gpu::with(false), Gpu::with(false));
    one.enter();
    let (block, pinned) = (one.alloc(8), one.pinned(8));
    let word = Box::into_raw(Box::new(0u64));
    register(word);
    let mut managed = 0u64;
    works(cu!(cuMemAllocManaged(&raw mut managed => *mut u64, 8 => usize, 1 => u32)));
    two.enter();
    works(cu!(cuMemFree_v2(block => u64)));
    works(cu!(cuMemFree_v2(managed => u64)));
    works(cu!(cuMemFreeHost(pinned => *mut u32)));
    works(cu!(cuMemHostUnregister(word => *mut u64)));
    // They are gone, and nobody else has them.
    is(cu!(cuMemFree_v2(block => u64)), CUDA_ERROR_INVALID_VALUE);
    is(
        cu!(cuMemFreeHost(pinned => *mut u32)),
        CUDA_ERROR_INVALID_VALUE,
    );
    is(
        cu!(cuMemHostUnregister(word => *mut u64)),
        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    );
    // SAFETY: the box of above, which nothing uses any more.
    drop(unsafe { Box::from_raw(word) });
}

#[test]
fn unregistering_waits_for_the_copies_of_all_gpus() {
    let (one, two) = (Gpu::with(false), Gpu::with(false));
    one.enter();
    let word = Box::into_raw(Box::new(0u64));
    register(word);
    two.enter();
    let (stream, block) = (two.stream(), two.alloc(8));
    works(cu!(cuMemsetD8_v2(block => u64, 1 => u8, 8 => usize)));
    delay(stream);
    works(cu!(cuMemcpyDtoHAsync_v2(word => *mut u64, block => u64, 8 => usize, stream => u64)));
    one.enter();
    works(cu!(cuMemHostUnregister(word => *mut u64)));
    // SAFETY: nothing reaches it any more.
    assert_eq!(unsafe { word.read_volatile() }, 0x0101_0101_0101_0101);
    two.enter();
    works(cu!(cuStreamSynchronize(stream => u64)));
    // SAFETY: the box of above.
    drop(unsafe { Box::from_raw(word) });
}

#[test]
fn a_copy_does_not_use_pinned_memory_of_another_gpu_that_was_freed() {
    let (one, two) = (Gpu::with(false), Gpu::with(false));
    one.enter();
    let pinned = one.pinned(8);
    two.enter();
    let (stream, block) = (two.stream(), two.alloc(8));
    delay(stream);
    works(cu!(cuMemcpyDtoHAsync_v2(pinned => *mut u32, block => u64, 8 => usize, stream => u64)));
    one.enter();
    works(cu!(cuMemFreeHost(pinned => *mut u32)));
    two.enter();
    is(
        cu!(cuStreamSynchronize(stream => u64)),
        CUDA_ERROR_ILLEGAL_ADDRESS,
    );
    one.enter();
    works(cu!(cuCtxSynchronize()));
}
