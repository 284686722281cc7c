//! The stand-in rejects what the driver rejects, and more where it is stricter.
//!
//! The tests share the state of the driver, and run one after the other.

mod gpu;

use std::ptr::{null, null_mut};
use std::time::Duration;

use cuda_standin::loader;
use cudarc::driver::sys::{self, CUresult};
use libtest_mimic::{Arguments, Trial};

use crate::gpu::{Gpu, is, works};

fn main() -> std::process::ExitCode {
    if !loader::PLACE.is_loaded() {
        panic!("nothing stands in: {}", loader::PLACE.run_again());
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let tests: [(&str, fn()); 8] = [
        (
            "nothing_works_before_it_begins",
            nothing_works_before_it_begins,
        ),
        ("a_context_must_be_current", a_context_must_be_current),
        ("contexts_keep_to_themselves", contexts_keep_to_themselves),
        ("nothing_is_destroyed_twice", nothing_is_destroyed_twice),
        ("copies_name_memory", copies_name_memory),
        ("streams_take_their_time", streams_take_their_time),
        ("parameters_in_a_buffer", parameters_in_a_buffer),
        ("leaks_are_counted", leaks_are_counted),
    ];
    let trials = tests.map(|(name, run)| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

fn nothing_works_before_it_begins() {
    let mut count = 0;
    // SAFETY: the functions write a number.
    unsafe {
        let before = sys::cuDeviceGetCount(&raw mut count);
        is(before, CUresult::CUDA_ERROR_NOT_INITIALIZED);
        works(sys::cuInit(0));
        works(sys::cuDeviceGetCount(&raw mut count));
    }
    assert_eq!(count, 2);
}

fn a_context_must_be_current() {
    let gpu = Gpu::retain(0);
    let mut address = 0;
    let mut alloc = || {
        // SAFETY: the function writes the address.
        unsafe { sys::cuMemAlloc_v2(&raw mut address, 8) }
    };
    is(alloc(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    gpu.enter();
    works(alloc());
    // Another thread has none.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            // SAFETY: takes nothing.
            unsafe { sys::cuCtxSynchronize() }
        });
        is(other.join().unwrap(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    });
    gpu.free(address);
    drop(gpu);
    // This thread's context is unchanged.
    // SAFETY: takes no arguments.
    let after = unsafe { sys::cuCtxSynchronize() };
    is(after, CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

fn contexts_keep_to_themselves() {
    let (one, other) = (Gpu::retain(0), Gpu::retain(1));
    one.enter();
    let (stream, address) = (one.stream(), one.alloc(8));
    other.enter();
    let own = other.stream();
    let mut word = 0u64;
    let to = (&raw mut word).cast();
    // SAFETY: `word` exists until everything is rejected.
    unsafe {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        is(sys::cuMemcpyDtoHAsync_v2(to, address, 8, own), invalid);
        is(sys::cuMemFree_v2(address), invalid);
        let refused = sys::cuStreamSynchronize(stream);
        is(refused, CUresult::CUDA_ERROR_INVALID_HANDLE);
        works(sys::cuStreamDestroy_v2(own));
    }
    one.enter();
    one.free(address);
    one.destroy(stream);
}

fn nothing_is_destroyed_twice() {
    let gpu = Gpu::retain(0);
    gpu.enter();
    let (stream, address, pinned) = (gpu.stream(), gpu.alloc(8), gpu.pinned(8));
    // SAFETY: handles and addresses are looked up.
    unsafe {
        let (handle, value) = (
            CUresult::CUDA_ERROR_INVALID_HANDLE,
            CUresult::CUDA_ERROR_INVALID_VALUE,
        );
        works(sys::cuStreamDestroy_v2(stream));
        is(sys::cuStreamDestroy_v2(stream), handle);
        is(sys::cuStreamSynchronize(stream), handle);
        is(sys::cuStreamSynchronize(null_mut()), handle);
        works(sys::cuMemFree_v2(address));
        is(sys::cuMemFree_v2(address), value);
        works(sys::cuMemFreeHost(pinned.cast()));
        is(sys::cuMemFreeHost(pinned.cast()), value);
        is(sys::cuEventDestroy_v2(stream.cast()), handle);
        is(sys::cuModuleUnload(stream.cast()), handle);
        is(sys::cuLinkDestroy(stream.cast()), handle);
        let refused = sys::cuDevicePrimaryCtxRelease_v2(1);
        is(refused, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
}

fn copies_name_memory() {
    let gpu = Gpu::retain(0);
    gpu.enter();
    let (stream, address, pinned) = (gpu.stream(), gpu.alloc(8), gpu.pinned(8));
    let mut word = 0u64;
    let here: *mut u64 = &raw mut word;
    let copy = |from: u64, len| {
        // SAFETY: eight bytes exist, and stay until the stream is synchronised; more are never
        // copied.
        unsafe { sys::cuMemcpyDtoHAsync_v2(here.cast(), from, len, stream) }
    };
    works(copy(address, 8));
    gpu.synchronize(stream);
    for (from, len) in [
        (address, 9),
        (address + 8, 1),
        (address - 1, 1),
        (here.addr() as u64, 8),
        (pinned.addr() as u64, 8),
        (0, 1),
    ] {
        is(copy(from, len), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    gpu.free(address);
    is(copy(address, 8), CUresult::CUDA_ERROR_INVALID_VALUE);
    gpu.free_pinned(pinned);
    gpu.destroy(stream);
}

/// While a kernel runs, later copies wait. Pinned memory is read when the copy runs, other memory
/// at once.
fn streams_take_their_time() {
    let gpu = Gpu::retain(0);
    gpu.enter();
    let stream = gpu.stream();
    let (module, wait_for) = gpu.kernel("wait_for", &[8]);
    let (flag, source) = (gpu.pinned(4), gpu.pinned(4));
    let words = gpu.alloc(8);
    let (mut pageable, mut back) = (1u32, [0u32; 2]);
    let at = (&raw const flag).cast_mut().cast();
    // SAFETY: all memory stays until the stream is synchronised, and is accessed through raw
    // pointers until then.
    unsafe {
        flag.cast::<u32>().write_volatile(0);
        source.cast::<u32>().write_volatile(1);
        let back = (&raw mut back).cast::<u32>();
        works(gpu::launch(wait_for, stream, &mut [at]));
        let from = (&raw const pageable).cast();
        works(sys::cuMemcpyHtoDAsync_v2(words, source.cast(), 4, stream));
        works(sys::cuMemcpyHtoDAsync_v2(words + 4, from, 4, stream));
        works(sys::cuMemcpyDtoHAsync_v2(back.cast(), words, 8, stream));
        (&raw mut pageable).write_volatile(2);
        source.cast::<u32>().write_volatile(2);
        std::thread::sleep(Duration::from_millis(20));
        is(sys::cuStreamQuery(stream), CUresult::CUDA_ERROR_NOT_READY);
        assert_eq!(back.cast::<[u32; 2]>().read_volatile(), [0, 0]);
        flag.cast::<std::sync::atomic::AtomicU32>()
            .as_ref()
            .unwrap()
            .store(1, std::sync::atomic::Ordering::Release);
        gpu.synchronize(stream);
        assert_eq!(back.cast::<[u32; 2]>().read_volatile(), [2, 1]);
        works(sys::cuModuleUnload(module));
    }
    gpu.free(words);
    gpu.free_pinned(flag);
    gpu.free_pinned(source);
    gpu.destroy(stream);
}

fn parameters_in_a_buffer() {
    let gpu = Gpu::retain(0);
    gpu.enter();
    let stream = gpu.stream();
    let (module, add) = gpu.kernel("add", &[4, 8, 8]);
    let sum = gpu.pinned(8);
    let mut buffer = [40u64, 2, sum.addr() as u64];
    let mut size = size_of_val(&buffer);
    // CU_LAUNCH_PARAM_BUFFER_POINTER, its value, .._SIZE, its value, CU_LAUNCH_PARAM_END.
    let mut extra = [
        std::ptr::without_provenance_mut(1),
        buffer.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(2),
        (&raw mut size).cast(),
        null_mut(),
    ];
    // SAFETY: the parameters are those of the kernel, each at a multiple of its size.
    unsafe {
        let mut launch = |params: *mut *mut _| {
            sys::cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, params, extra.as_mut_ptr())
        };
        works(launch(null_mut()));
        gpu.synchronize(stream);
        assert_eq!(sum.cast::<u64>().read_volatile(), 42);
        // One or the other.
        let mut none = [null::<u8>().cast_mut().cast()];
        is(
            launch(none.as_mut_ptr()),
            CUresult::CUDA_ERROR_INVALID_VALUE,
        );
        works(sys::cuModuleUnload(module));
    }
    gpu.free_pinned(sum);
    gpu.destroy(stream);
}

/// Also shows that none of the tests before has leaked.
fn leaks_are_counted() {
    assert_eq!((loader::contexts(), loader::leaks()), (0, 0));
    let gpu = Gpu::retain(0);
    gpu.enter();
    gpu.stream();
    gpu.alloc(1);
    gpu.pinned(1);
    gpu.kernel("add", &[4, 8, 8]);
    assert_eq!((loader::contexts(), loader::leaks()), (1, 0));
    drop(gpu);
    assert_eq!((loader::contexts(), loader::leaks()), (0, 4));
}
