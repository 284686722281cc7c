//! Arguments that no driver can do anything with are errors, and change nothing.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::CUresult::*;

use crate::gpu::{Gpu, cu, is, launch, works};

fn free_memory() -> usize {
    let (mut free, mut total) = (0usize, 0usize);
    works(cu!(cuMemGetInfo_v2(&raw mut free => *mut usize, &raw mut total => *mut usize)));
    free
}

#[test]
fn memory_for_nobody_is_not_allocated() {
    let gpu = Gpu::with(false);
    let before = free_memory();
    let none: *mut u64 = null_mut();
    let mut pitch = 0usize;
    for code in [
        cu!(cuMemAlloc_v2(none => *mut u64, 8 => usize)),
        cu!(cuMemAllocAsync(none => *mut u64, 8 => usize, 0 => u64)),
        cu!(cuMemHostAlloc(none => *mut u64, 8 => usize, 0 => u32)),
        cu!(cuMemAllocManaged(none => *mut u64, 8 => usize, 1 => u32)),
        cu!(cuMemAllocPitch_v2(
            none => *mut u64, &raw mut pitch => *mut usize, 8 => usize, 1 => usize, 4 => u32
        )),
    ] {
        is(code, CUDA_ERROR_INVALID_VALUE);
    }
    assert_eq!(free_memory(), before);
    drop(gpu);
}

/// It would wait for itself.
#[test]
fn a_function_in_a_stream_does_not_use_the_driver() {
    static CODE: AtomicU32 = AtomicU32::new(0);
    extern "C" fn destroy(context: *mut c_void) {
        let code = cu!(cuCtxDestroy_v2(context.addr() as u64 => u64));
        CODE.store(code, Ordering::Release);
    }
    let gpu = Gpu::new();
    let mut own = 0u64;
    works(cu!(cuCtxCreate_v2(&raw mut own => *mut u64, 0 => u32, gpu.number => i32)));
    works(cu!(cuLaunchHostFunc(
        0 => u64, destroy => extern "C" fn(*mut c_void),
        std::ptr::without_provenance_mut(own as usize) => *mut c_void
    )));
    works(cu!(cuCtxSynchronize()));
    is(CODE.load(Ordering::Acquire), CUDA_ERROR_NOT_PERMITTED);
    works(cu!(cuCtxDestroy_v2(own => u64)));
}

#[test]
fn rows_are_in_memory_and_apart() {
    let gpu = Gpu::new();
    let (device, mut host) = (gpu.alloc(64), [0u8; 64]);
    let host = host.as_mut_ptr().expose_provenance() as u64;
    // Kind, the host's address, the device's, and bytes from row to row.
    let copy = |to: [u64; 4], from: [u64; 4], [width, rows]: [u64; 2]| {
        let side = |[kind, host, device, pitch]: [u64; 4]| [0, 0, kind, host, device, 0, pitch];
        let copy = [&side(from)[..], &side(to), &[width, rows]].concat();
        cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64))
    };
    let (in_device, in_host) = ([2, 0, device, 8], [1, host, 0, 8]);
    works(copy(in_device, in_host, [8, 8]));
    // More rows than any memory has room for.
    is(
        copy(in_device, in_host, [8, 1 << 40]),
        CUDA_ERROR_INVALID_VALUE,
    );
    is(copy(in_device, in_host, [9, 2]), CUDA_ERROR_INVALID_VALUE);
    // The host's memory is not the device's.
    is(
        copy([2, 0, host, 8], in_host, [8, 8]),
        CUDA_ERROR_INVALID_VALUE,
    );
    // Slices that overlap: these have no rows.
    let slices: u64 = 1 << 40;
    let side = |kind: u64, host: u64, device: u64| [0, 0, 0, 0, kind, host, device, 0, 0, 8, 0];
    let volume = [&side(1, host, 0)[..], &side(2, 0, device), &[8, 1, slices]].concat();
    is(
        cu!(cuMemcpy3D_v2(volume.as_ptr() => *const u64)),
        CUDA_ERROR_INVALID_VALUE,
    );
    works(cu!(cuMemFree_v2(device => u64)));
}

#[test]
fn no_gpu_has_that_much_shared_memory() {
    let gpu = Gpu::new();
    let (add, module) = gpu.kernel("add");
    let mut blocks = -1;
    works(cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &raw mut blocks => *mut i32, add => u64, 32 => i32, usize::MAX => usize
    )));
    assert_eq!(blocks, 0);
    works(cu!(cuModuleUnload(module => u64)));
}

#[test]
fn parameters_of_a_launch_are_there() {
    let gpu = Gpu::new();
    let (store, module) = gpu.kernel("store");
    let list = |extra: &[*const c_void]| {
        let each: *const *const c_void = null();
        cu!(cuLaunchKernel(
            store => u64, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => u64,
            each => *const *const c_void, extra.as_ptr() => *const *const c_void
        ))
    };
    let name = std::ptr::without_provenance;
    let (buffer, size) = ([0u64], 8usize);
    let (buffer, size) = (buffer.as_ptr().cast(), (&raw const size).cast());
    is(
        launch(store, 0, &mut [null_mut()]),
        CUDA_ERROR_INVALID_VALUE,
    );
    is(
        list(&[name(1), null(), name(2), size, null()]),
        CUDA_ERROR_INVALID_VALUE,
    );
    is(
        list(&[name(1), buffer, name(2), null(), null()]),
        CUDA_ERROR_INVALID_VALUE,
    );
    // One attribute, of which there are none.
    let mut config = [0u64; 7];
    config[..3].fill(1 | 1 << 32);
    config[6] = 1;
    let each: *const *const c_void = null();
    is(
        cu!(cuLaunchKernelEx(
            config.as_ptr() => *const u64, store => u64, each => *const *const c_void,
            each => *const *const c_void
        )),
        CUDA_ERROR_INVALID_VALUE,
    );
    works(cu!(cuModuleUnload(module => u64)));
}

#[test]
fn memory_that_a_broken_context_was_to_free_is_freed() {
    let gpu = Gpu::with(false);
    let before = free_memory();
    let mut own = 0u64;
    works(cu!(cuCtxCreate_v2(&raw mut own => *mut u64, 0 => u32, gpu.number => i32)));
    let (traps, _) = gpu.kernel("traps");
    let mut memory = 0u64;
    works(cu!(cuMemAllocAsync(&raw mut memory => *mut u64, 4096 => usize, 0 => u64)));
    works(launch(traps, 0, &mut []));
    // The kernel has broken the context before or will have after this.
    let _ = cu!(cuMemFreeAsync(memory => u64, 0 => u64));
    is(cu!(cuCtxSynchronize()), CUDA_ERROR_ILLEGAL_INSTRUCTION);
    works(cu!(cuCtxDestroy_v2(own => u64)));
    assert_eq!(free_memory(), before);
}

#[test]
fn only_memory_of_the_host_is_registered() {
    let gpu = Gpu::with(false);
    let device = gpu.alloc(64);
    is(
        cu!(cuMemHostRegister_v2(device => u64, 64 => usize, 0 => u32)),
        CUDA_ERROR_INVALID_VALUE,
    );
    works(cu!(cuMemFree_v2(device => u64)));
}

#[test]
fn a_gpu_always_has_a_pool() {
    let gpu = Gpu::new();
    let (mut default, mut own, mut used) = (0u64, 0u64, 0u64);
    works(cu!(cuDeviceGetDefaultMemPool(&raw mut default => *mut u64, gpu.number => i32)));
    is(
        cu!(cuMemPoolDestroy(default => u64)),
        CUDA_ERROR_INVALID_VALUE,
    );
    let properties = [0u64; 11];
    works(cu!(cuMemPoolCreate(&raw mut own => *mut u64, properties.as_ptr() => *const u64)));
    works(cu!(cuDeviceSetMemPool(gpu.number => i32, own => u64)));
    works(cu!(cuMemPoolDestroy(own => u64)));
    works(cu!(cuDeviceGetMemPool(&raw mut used => *mut u64, gpu.number => i32)));
    assert_eq!(used, default);
}
