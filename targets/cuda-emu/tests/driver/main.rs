//! The driver does what NVIDIA documents, and rejects what it should.

mod files;
mod forged;
mod gpu;
mod invalid;
mod peers;
mod random;

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cudarc::driver::sys::CUresult::*;

use crate::gpu::{Gpu, cu, is, launch, launch_grid, works};

fn copy_back(from: u64, len: usize) -> Result<Vec<u8>, u32> {
    let mut bytes = vec![0u8; len];
    match cu!(cuMemcpyDtoH_v2(bytes.as_mut_ptr() => *mut u8, from => u64, len => usize)) {
        0 => Ok(bytes),
        code => Err(code),
    }
}

#[test]
fn a_context_must_be_current() {
    let gpu = Gpu::new();
    let mut address = 0u64;
    let mut alloc = || cu!(cuMemAlloc_v2(&raw mut address => *mut u64, 8 => usize));
    works(alloc());
    // Another thread has none.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| cu!(cuCtxSynchronize()));
        is(other.join().unwrap(), CUDA_ERROR_INVALID_CONTEXT);
    });
    works(cu!(cuMemFree_v2(address => u64)));
    let other = gpu.alloc(8);
    let mut popped = 0u64;
    works(cu!(cuCtxPopCurrent_v2(&raw mut popped => *mut u64)));
    assert_eq!(popped, gpu.context);
    is(cu!(cuCtxSynchronize()), CUDA_ERROR_INVALID_CONTEXT);
    // Freeing needs no current context: the address identifies its own.
    works(cu!(cuMemFree_v2(other => u64)));
    works(cu!(cuCtxPushCurrent_v2(popped => u64)));
    works(cu!(cuCtxSynchronize()));
    drop(gpu);
    // This thread's context is unchanged.
    is(cu!(cuCtxSynchronize()), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/// Addressing is unified: an address says which GPU's memory it is.
#[test]
fn gpus_have_addresses_of_their_own() {
    let one = Gpu::with(false);
    let first = one.alloc(8);
    let other = Gpu::with(false);
    let second = other.alloc(8);
    assert_ne!(first, second);
    // The other's context is current.
    works(cu!(cuMemFree_v2(first => u64)));
    is(cu!(cuMemFree_v2(first => u64)), CUDA_ERROR_INVALID_VALUE);
    works(cu!(cuMemFree_v2(second => u64)));
}

/// It would wait for threads that it does not have.
#[test]
fn a_forked_process_has_no_driver() {
    let _gpu = Gpu::new();
    // SAFETY: the child calls functions that return at once, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let codes = [cu!(cuInit(0 => u32)), cu!(cuCtxSynchronize())];
        let is_as_documented = codes == [CUDA_ERROR_NOT_INITIALIZED as u32; 2];
        // SAFETY: ends the child without the parent's handlers.
        unsafe { libc::_exit(i32::from(!is_as_documented)) };
    }
    let mut status = -1;
    // SAFETY: waits for the child, and writes the number.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
    works(cu!(cuCtxSynchronize()));
}

#[test]
fn contexts_of_a_program_are_its_own() {
    let gpu = Gpu::new();
    let primary = gpu.alloc(8);
    let (mut own, mut current) = (0u64, 0u64);
    works(cu!(cuCtxCreate_v2(&raw mut own => *mut u64, 0 => u32, gpu.number => i32)));
    works(cu!(cuCtxGetCurrent(&raw mut current => *mut u64)));
    assert_eq!(current, own);
    is(cu!(cuMemFree_v2(primary => u64)), CUDA_ERROR_INVALID_VALUE);
    is(
        cu!(cuCtxDestroy_v2(gpu.context => u64)),
        CUDA_ERROR_INVALID_CONTEXT,
    );
    works(cu!(cuCtxDestroy_v2(own => u64)));
    works(cu!(cuCtxGetCurrent(&raw mut current => *mut u64)));
    assert_eq!(current, gpu.context);
    works(cu!(cuMemFree_v2(primary => u64)));
}

#[test]
fn contexts_keep_to_themselves() {
    let one = Gpu::new();
    let (stream, address) = (one.stream(), one.alloc(8));
    let other = Gpu::new();
    let own = other.stream();
    let mut word = 0u64;
    let copied = cu!(cuMemcpyDtoHAsync_v2(
        &raw mut word => *mut u64, address => u64, 8 => usize, own => u64
    ));
    is(copied, CUDA_ERROR_INVALID_VALUE);
    is(cu!(cuMemFree_v2(address => u64)), CUDA_ERROR_INVALID_VALUE);
    is(
        cu!(cuStreamSynchronize(stream => u64)),
        CUDA_ERROR_INVALID_HANDLE,
    );
    works(cu!(cuStreamDestroy_v2(own => u64)));
    one.enter();
    works(cu!(cuMemFree_v2(address => u64)));
    works(cu!(cuStreamDestroy_v2(stream => u64)));
}

#[test]
fn nothing_is_destroyed_twice() {
    let gpu = Gpu::new();
    let (stream, address, pinned) = (gpu.stream(), gpu.alloc(8), gpu.pinned(8));
    works(cu!(cuStreamDestroy_v2(stream => u64)));
    is(
        cu!(cuStreamDestroy_v2(stream => u64)),
        CUDA_ERROR_INVALID_HANDLE,
    );
    is(
        cu!(cuStreamSynchronize(stream => u64)),
        CUDA_ERROR_INVALID_HANDLE,
    );
    works(cu!(cuMemFree_v2(address => u64)));
    is(cu!(cuMemFree_v2(address => u64)), CUDA_ERROR_INVALID_VALUE);
    works(cu!(cuMemFreeHost(pinned => *mut u32)));
    is(
        cu!(cuMemFreeHost(pinned => *mut u32)),
        CUDA_ERROR_INVALID_VALUE,
    );
    is(
        cu!(cuEventDestroy_v2(stream => u64)),
        CUDA_ERROR_INVALID_HANDLE,
    );
    is(
        cu!(cuModuleUnload(stream => u64)),
        CUDA_ERROR_INVALID_HANDLE,
    );
    is(cu!(cuLinkDestroy(stream => u64)), CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn copies_name_memory() {
    let gpu = Gpu::new();
    let address = gpu.alloc(8);
    assert_eq!(
        copy_back(address, 8).unwrap(),
        [0xa5; 8],
        "new memory is not zero"
    );
    let mut word = 0u64;
    for (from, len) in [
        (address, 9),
        (address + 8, 1),
        (address - 1, 1),
        ((&raw mut word).addr() as u64, 8),
        (0, 1),
    ] {
        assert_eq!(
            copy_back(from, len),
            Err(CUDA_ERROR_INVALID_VALUE as u32),
            "{from:#x}"
        );
    }
    // Pinned memory has one address for both sides.
    let pinned = gpu.pinned(8);
    let mut of_device = 0u64;
    works(cu!(cuMemHostGetDevicePointer_v2(
        &raw mut of_device => *mut u64, pinned => *mut u32, 0 => u32
    )));
    assert_eq!(of_device, pinned.addr() as u64);
    copy_back(of_device, 8).unwrap();
    works(cu!(cuMemFree_v2(address => u64)));
    assert!(copy_back(address, 8).is_err());
    works(cu!(cuMemFreeHost(pinned => *mut u32)));
}

#[test]
fn fills_and_rectangles() {
    let _gpu = Gpu::new();
    let (mut pitch, mut address) = (0usize, 0u64);
    works(cu!(cuMemAllocPitch_v2(
        &raw mut address => *mut u64, &raw mut pitch => *mut usize,
        12 => usize, 4 => usize, 4 => u32
    )));
    works(cu!(cuMemsetD2D32_v2(
        address => u64, pitch => usize, 0x0102_0304 => u32, 3 => usize, 4 => usize
    )));
    works(cu!(cuMemsetD8_v2(address + 1 => u64, 9 => u8, 2 => usize)));
    is(
        cu!(cuMemsetD32_v2(address + 1 => u64, 0 => u32, 1 => usize)),
        CUDA_ERROR_INVALID_VALUE,
    );
    let rows = copy_back(address, pitch * 3 + 12).unwrap();
    assert_eq!(rows[..12], [4, 9, 9, 1, 4, 3, 2, 1, 4, 3, 2, 1]);
    for row in 1..4 {
        assert_eq!(rows[pitch * row..][..12], [4, 3, 2, 1].repeat(3));
        assert_eq!(rows[pitch * (row - 1) + 12], 0xa5, "between the rows");
    }
    let mut square = [0u8; 8];
    // CUDA_MEMCPY2D: source (x, y, kind 2 for device memory, host, device, array, pitch), target (kind 1
    // for memory of the host), width and height.
    let mut copy = [0u64; 16];
    copy[..7].copy_from_slice(&[2, 0, 2, 0, address, 0, pitch as u64]);
    copy[7..14].copy_from_slice(&[0, 0, 1, square.as_mut_ptr().addr() as u64, 0, 0, 4]);
    copy[14..].copy_from_slice(&[4, 2]);
    works(cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64)));
    copy[2] = 77;
    is(
        cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64)),
        CUDA_ERROR_INVALID_VALUE,
    );
    assert_eq!(square, [9, 1, 4, 3, 2, 1, 4, 3]);
    works(cu!(cuMemFree_v2(address => u64)));
}

/// While a kernel runs, later copies wait. Pinned memory is read when the copy runs, other memory at
/// once.
#[test]
fn streams_take_their_time() {
    let gpu = Gpu::new();
    let stream = gpu.stream();
    let (wait_for, module) = gpu.kernel("wait_for");
    let (flag, source, back) = (gpu.pinned(4), gpu.pinned(4), gpu.pinned(8));
    let words = gpu.alloc(8);
    let mut pageable = 1u32;
    let mut at = flag;
    // SAFETY: all memory stays until the stream is synchronised, and is accessed through raw pointers
    // until then.
    unsafe {
        flag.write_volatile(0);
        source.write_volatile(1);
        back.cast::<[u32; 2]>().write_volatile([0, 0]);
        works(launch(wait_for, stream, &mut [(&raw mut at).cast()]));
        let copy = |to: u64, from: *const u32| cu!(cuMemcpyHtoDAsync_v2(to => u64, from => *const u32, 4 => usize, stream => u64));
        works(copy(words, source));
        works(copy(words + 4, &raw const pageable));
        works(cu!(cuMemcpyDtoHAsync_v2(
            back => *mut u32, words => u64, 8 => usize, stream => u64
        )));
        (&raw mut pageable).write_volatile(2);
        source.write_volatile(2);
        std::thread::sleep(Duration::from_millis(20));
        is(cu!(cuStreamQuery(stream => u64)), CUDA_ERROR_NOT_READY);
        assert_eq!(back.cast::<[u32; 2]>().read_volatile(), [0, 0]);
        AtomicU32::from_ptr(flag).store(1, Ordering::Release);
        works(cu!(cuStreamSynchronize(stream => u64)));
        assert_eq!(back.cast::<[u32; 2]>().read_volatile(), [2, 1]);
    }
    works(cu!(cuModuleUnload(module => u64)));
}

/// A stream that is destroyed does its work, and others wait for it.
#[test]
fn a_destroyed_stream_is_waited_for() {
    let gpu = Gpu::new();
    let (wait_for, _) = gpu.kernel("wait_for");
    let flag = gpu.pinned(4);
    // SAFETY: the memory is this test's.
    unsafe { flag.write_volatile(0) };
    let mut at = flag;
    let stream = gpu.stream();
    works(launch(wait_for, stream, &mut [(&raw mut at).cast()]));
    works(cu!(cuStreamDestroy_v2(stream => u64)));
    // SAFETY: as above; it stays until the thread has ended.
    let flag = unsafe { AtomicU32::from_ptr(flag) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            flag.store(1, Ordering::Release);
        });
        works(cu!(cuCtxSynchronize()));
        assert_eq!(
            flag.load(Ordering::Acquire),
            1,
            "its kernel was still running"
        );
    });
}

/// The legacy default stream waits for blocking streams and they for it; others go on.
#[test]
fn default_streams_wait_as_documented() {
    let gpu = Gpu::with(false);
    let (wait_for, _) = gpu.kernel("wait_for");
    let (flag, done) = (gpu.pinned(4), gpu.alloc(16));
    let mut blocking = 0u64;
    works(cu!(cuStreamCreate(&raw mut blocking => *mut u64, 0 => u32)));
    let alone = gpu.stream();
    // SAFETY: the memory is this test's.
    unsafe { flag.write_volatile(0) };
    let mut at = flag;
    works(launch(wait_for, blocking, &mut [(&raw mut at).cast()]));
    let fill = |at: u64, stream: u64| cu!(cuMemsetD32Async(done + 4 * at => u64, 1 => u32, 1 => usize, stream => u64));
    works(fill(0, 0));
    works(fill(1, alone));
    works(cu!(cuStreamSynchronize(alone => u64)));
    is(cu!(cuStreamQuery(0 => u64)), CUDA_ERROR_NOT_READY);
    // The per-thread default stream is a blocking one, and so waits for the legacy one.
    is(cu!(cuStreamQuery_ptsz(0 => u64)), CUDA_ERROR_NOT_READY);
    // SAFETY: as above.
    unsafe { AtomicU32::from_ptr(flag) }.store(1, Ordering::Release);
    works(cu!(cuStreamSynchronize(0 => u64)));
    works(cu!(cuCtxSynchronize()));
    assert_eq!(copy_back(done, 8).unwrap(), [1, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn events_measure_time() {
    let gpu = Gpu::new();
    let stream = gpu.stream();
    let (mut from, mut to, mut untimed) = (0u64, 0u64, 0u64);
    for (event, flags) in [(&mut from, 0), (&mut to, 0), (&mut untimed, 2)] {
        works(cu!(cuEventCreate(event => *mut u64, flags => u32)));
    }
    extern "C" fn sleep(_: *mut c_void) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let record = |event: u64| cu!(cuEventRecord(event => u64, stream => u64));
    works(record(from));
    works(cu!(cuLaunchHostFunc(
        stream => u64, sleep => extern "C" fn(*mut c_void), null_mut() => *mut c_void
    )));
    works(record(to));
    works(record(untimed));
    let mut elapsed = 0f32;
    let mut measure = |from: u64, to: u64| cu!(cuEventElapsedTime(&raw mut elapsed => *mut f32, from => u64, to => u64));
    is(measure(from, to), CUDA_ERROR_NOT_READY);
    works(cu!(cuEventSynchronize(to => u64)));
    is(measure(from, untimed), CUDA_ERROR_INVALID_HANDLE);
    works(measure(from, to));
    assert!(elapsed >= 20.0, "{elapsed}");
}

#[test]
fn parameters_in_a_buffer() {
    let gpu = Gpu::new();
    let stream = gpu.stream();
    let (add, _) = gpu.kernel("add");
    let sum = gpu.pinned(8).cast::<u64>();
    let mut buffer = [40u64, 2, sum.addr() as u64];
    let mut size = size_of_val(&buffer);
    // CU_LAUNCH_PARAM_BUFFER_POINTER, its value, .._SIZE, its value, CU_LAUNCH_PARAM_END.
    let mut extra: [*mut c_void; 5] = [
        std::ptr::without_provenance_mut(1),
        buffer.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(2),
        (&raw mut size).cast(),
        null_mut(),
    ];
    let mut launch = |params: *mut *mut c_void| {
        cu!(cuLaunchKernel(
            add => u64,
            1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32,
            0 => u32, stream => u64,
            params => *mut *mut c_void, extra.as_mut_ptr() => *mut *mut c_void
        ))
    };
    works(launch(null_mut()));
    works(cu!(cuStreamSynchronize(stream => u64)));
    // SAFETY: the memory is this test's.
    assert_eq!(unsafe { sum.read_volatile() }, 42);
    // One or the other.
    let mut none = [null::<u8>().cast_mut().cast()];
    is(launch(none.as_mut_ptr()), CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn cooperative_launches_have_a_workspace() {
    let gpu = Gpu::new();
    let (kernel, _) = gpu.kernel("count_in_workspace");
    let word = gpu.pinned(4);
    let mut address = word.addr() as u64;
    let mut params: [*mut c_void; 1] = [(&raw mut address).cast()];
    let cooperative = |params: &mut [*mut c_void; 1]| {
        cu!(cuLaunchCooperativeKernel(
            kernel => u64,
            1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32,
            0 => u32, 0 => u64,
            params.as_mut_ptr() => *mut *mut c_void
        ))
    };
    // Each launch has another one, which is zeroed.
    for _ in 0..2 {
        works(cooperative(&mut params));
        works(cu!(cuCtxSynchronize()));
        // SAFETY: the memory is this test's.
        assert_eq!(unsafe { word.read_volatile() }, 1);
    }
    works(launch(kernel, 0, &mut params));
    works(cu!(cuCtxSynchronize()));
    // SAFETY: as above.
    assert_eq!(unsafe { word.read_volatile() }, u32::MAX);
}

/// The blocks of a cooperative launch share device memory, which is allocated when the kernel starts.
#[test]
fn a_cooperative_launch_without_memory_says_so() {
    let gpu = Gpu::new();
    let (kernel, _) = gpu.kernel("count_in_workspace");
    let word = gpu.pinned(4);
    let mut address = word.addr() as u64;
    let mut params: [*mut c_void; 1] = [(&raw mut address).cast()];
    let (mut bytes, mut block) = (32usize << 20, 0u64);
    while bytes >= 256 {
        if cu!(cuMemAlloc_v2(&raw mut block => *mut u64, bytes => usize)) != 0 {
            bytes /= 2;
        }
    }
    works(cu!(cuLaunchCooperativeKernel(
        kernel => u64,
        1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32,
        0 => u32, 0 => u64,
        params.as_mut_ptr() => *mut *mut c_void
    )));
    is(cu!(cuCtxSynchronize()), CUDA_ERROR_OUT_OF_MEMORY);
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let gpu = Gpu::new();
    let (bounded, module) = gpu.kernel("at_most_64");
    let shape = |grid, block| launch_grid(bounded, (grid, block), 0, &mut []);
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 65536, 1], [1, 1, 1]),
        ([1, 1, 1], [0, 1, 1]),
        ([1, 1, 1], [65, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
    ] {
        is(shape(grid, block), CUDA_ERROR_INVALID_VALUE);
    }
    works(shape([2, 2, 2], [4, 4, 4]));
    works(cu!(cuCtxSynchronize()));
    is(launch(module, 0, &mut []), CUDA_ERROR_INVALID_HANDLE);
    works(cu!(cuModuleUnload(module => u64)));
    is(shape([1, 1, 1], [1, 1, 1]), CUDA_ERROR_INVALID_HANDLE);
    works(cu!(cuCtxSynchronize()));
}

#[test]
fn a_fault_breaks_the_context_and_says_where() {
    for (kernel, code, words) in [
        ("store", CUDA_ERROR_ILLEGAL_ADDRESS, "4 bytes at 0x10"),
        ("traps", CUDA_ERROR_ILLEGAL_INSTRUCTION, "trap"),
    ] {
        let gpu = Gpu::new();
        let (function, _) = gpu.kernel(kernel);
        let outside = gpu.alloc(4) + 4096;
        let mut place = outside;
        let mut params: Vec<*mut c_void> = Vec::new();
        if kernel == "store" {
            params.push((&raw mut place).cast());
        }
        works(launch(function, 0, &mut params));
        is(cu!(cuCtxSynchronize()), code);
        // Everything fails from now on.
        let mut address = 0u64;
        is(
            cu!(cuMemAlloc_v2(&raw mut address => *mut u64, 8 => usize)),
            code,
        );
        let fault = cuda_emu::fault_of(gpu.context).expect("a fault");
        assert_eq!(fault.kernel, kernel);
        let said = gpu.said.lock().unwrap().join("\n");
        assert!(
            said.contains(words) && said.contains("thread (0, 0, 0)"),
            "{said}"
        );
    }
}

#[test]
fn parts_are_linked_and_the_log_says_why_not() {
    let gpu = Gpu::new();
    let caller = CString::new(
        ".version 7.0\n.target sm_60\n.address_size 64\n.extern .func helper(.param .b64 p);\n\
         .visible .entry calls(.param .u64 p) {\n.reg .b64 %a; .param .b64 q;\n\
         ld.param.u64 %a, [p]; st.param.b64 [q], %a; call helper, (q); ret; }\n",
    )
    .unwrap();
    let helper = CString::new(
        ".version 7.0\n.target sm_60\n.address_size 64\n\
         .visible .func helper(.param .b64 p) {\n.reg .b64 %a;\n\
         ld.param.u64 %a, [p]; st.u32 [%a], 5; ret; }\n",
    )
    .unwrap();
    let link = |parts: &[&CStr]| -> (u32, String, u64) {
        let mut log = [0u8; 1000];
        // CU_JIT_ERROR_LOG_BUFFER and its size.
        let options = [5u32, 6];
        let mut values: [*mut c_void; 2] = [
            log.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(1000),
        ];
        let mut linker = 0u64;
        works(cu!(cuLinkCreate_v2(
            2 => u32, options.as_ptr() => *const u32, values.as_mut_ptr() => *mut *mut c_void,
            &raw mut linker => *mut u64
        )));
        for part in parts {
            works(cu!(cuLinkAddData_v2(
                linker => u64, 1 => u32, part.as_ptr() => *const c_char,
                part.to_bytes_with_nul().len() => usize, c"part".as_ptr() => *const c_char,
                0 => u32, null() => *const u32, null_mut() => *mut *mut c_void
            )));
        }
        let (mut image, mut size, mut module) = (null::<c_void>(), 0usize, 0u64);
        let mut code = cu!(cuLinkComplete(
            linker => u64, &raw mut image => *mut *const c_void, &raw mut size => *mut usize
        ));
        if code == 0 {
            code = cu!(cuModuleLoadData(&raw mut module => *mut u64, image => *const c_void));
        }
        works(cu!(cuLinkDestroy(linker => u64)));
        let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
        (code, text.to_owned(), module)
    };
    let (code, log, module) = link(&[&caller, &helper]);
    assert_eq!((code, log.as_str()), (0, ""));
    let mut function = 0u64;
    works(cu!(cuModuleGetFunction(
        &raw mut function => *mut u64, module => u64, c"calls".as_ptr() => *const c_char
    )));
    let word = gpu.alloc(4);
    let mut place = word;
    works(launch(function, 0, &mut [(&raw mut place).cast()]));
    assert_eq!(copy_back(word, 4).unwrap(), [5, 0, 0, 0]);
    let (code, log, _) = link(&[&caller]);
    is(code, CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("helper"), "{log}");
    let (code, log, _) = link(&[&caller, &helper, &helper]);
    is(code, CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("`helper` is defined"), "{log}");
}

#[test]
fn images_that_are_no_ptx_are_refused() {
    let gpu = Gpu::new();
    let mut module = 0u64;
    let mut load = |image: &[u8]| cu!(cuModuleLoadData(&raw mut module => *mut u64, image.as_ptr() => *const u8));
    is(load(b"\x7fELF\x02\x01\x01\0"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    is(load(b"nothing\0"), CUDA_ERROR_INVALID_IMAGE);
    is(
        load(b".version 7.0\n.target sm_60\nnonsense\0"),
        CUDA_ERROR_INVALID_PTX,
    );
    is(
        load(b".version 8.0\n.target sm_121\n.address_size 64\n\0"),
        CUDA_ERROR_NO_BINARY_FOR_GPU,
    );
    let none: *const u8 = null();
    is(
        cu!(cuModuleLoadData(&raw mut module => *mut u64, none => *const u8)),
        CUDA_ERROR_INVALID_VALUE,
    );
    drop(gpu);
}

/// A fatbin with a kernel `of_NN` for each of these architectures, and one for a GPU that is newer.
fn fatbin(arches: &[u32], stored: test_fatbin::Stored) -> Vec<u8> {
    let texts: Vec<_> = arches
        .iter()
        .map(|arch| {
            format!(
                ".version 7.0\n.target sm_{arch}\n.address_size 64\n.visible .entry of_{arch}() {{ ret; }}\n\0"
            )
        })
        .collect();
    let entries: Vec<_> = arches
        .iter()
        .zip(&texts)
        .map(|(&arch, text)| {
            let image = test_fatbin::Image {
                kind: 1,
                arch,
                version: (7, 0),
                flags: 0x11,
                identifier: b"",
                options: None,
                bytes: text.as_bytes(),
                stored,
            };
            image.entry()
        })
        .collect();
    test_fatbin::write(&entries)
}

#[test]
fn the_best_text_of_a_fatbin_is_loaded() {
    let _gpu = Gpu::new();
    let mut module = 0u64;
    for stored in test_fatbin::Stored::ALL {
        let image = fatbin(&[60, 80, 120], stored);
        works(cu!(cuModuleLoadData(&raw mut module => *mut u64, image.as_ptr() => *const u8)));
        let mut function = 0u64;
        let mut find = |name: &CStr| {
            cu!(cuModuleGetFunction(
                &raw mut function => *mut u64, module => u64, name.as_ptr() => *const c_char
            ))
        };
        works(find(c"of_80"));
        is(find(c"of_60"), CUDA_ERROR_NOT_FOUND);
        // In the wrapper that compilers put into programs: two numbers, the fatbin, and a file's name.
        let wrapped = [
            u64::from(0x466_243b1u32) | 1 << 32,
            image.as_ptr().expose_provenance() as u64,
            0,
        ];
        works(
            cu!(cuModuleLoadFatBinary(&raw mut module => *mut u64, wrapped.as_ptr() => *const u64)),
        );
    }
    let newer = fatbin(&[120], test_fatbin::Stored::Plain);
    is(
        cu!(cuModuleLoadData(&raw mut module => *mut u64, newer.as_ptr() => *const u8)),
        CUDA_ERROR_NO_BINARY_FOR_GPU,
    );
}

/// Damaged files in a buffer of their size, whose header says no more.
#[test]
fn damaged_fatbins_are_errors() {
    const HEADER: usize = 16;
    let _gpu = Gpu::new();
    let good = fatbin(&[60, 80], test_fatbin::Stored::Lz4);
    let (mut loaded, mut refused) = (0, 0);
    for at in HEADER..good.len() {
        for change in [1, 0x80, 0xff] {
            let mut image = good.clone();
            image[at] ^= change;
            let mut module = 0u64;
            let code =
                cu!(cuModuleLoadData(&raw mut module => *mut u64, image.as_ptr() => *const u8));
            if code == 0 {
                loaded += 1;
                works(cu!(cuModuleUnload(module => u64)));
            } else {
                refused += 1;
                let expected = [
                    CUDA_ERROR_INVALID_IMAGE,
                    CUDA_ERROR_INVALID_PTX,
                    CUDA_ERROR_NO_BINARY_FOR_GPU,
                ];
                assert!(
                    expected.iter().any(|&known| known as u32 == code),
                    "{code} at {at}"
                );
            }
        }
    }
    assert!(
        loaded > 50 && refused > 50,
        "{loaded} loaded, {refused} refused"
    );
}

#[test]
fn variables_have_addresses() {
    let gpu = Gpu::new();
    let module = gpu.load();
    let (mut address, mut size) = (0u64, 0usize);
    let mut find = |name: &CStr| {
        cu!(cuModuleGetGlobal_v2(
            &raw mut address => *mut u64, &raw mut size => *mut usize, module => u64,
            name.as_ptr() => *const c_char
        ))
    };
    is(find(c"nothing"), CUDA_ERROR_NOT_FOUND);
    works(find(c"counter"));
    assert_eq!(size, 8);
    assert_eq!(copy_back(address, 8).unwrap(), 7u64.to_le_bytes());
    assert!(copy_back(address, 9).is_err());
}

#[test]
fn memory_of_the_host_is_registered() {
    let gpu = Gpu::new();
    let mut words = vec![0u32; 2048].into_boxed_slice();
    let at = words.as_mut_ptr();
    let register = || cu!(cuMemHostRegister_v2(at => *mut u32, 8192 => usize, 0 => u32));
    works(register());
    is(register(), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    let (store, _) = gpu.kernel("store");
    let mut place = at.addr() as u64 + 4 * 100;
    works(launch(store, 0, &mut [(&raw mut place).cast()]));
    works(cu!(cuCtxSynchronize()));
    // SAFETY: the kernel has ended.
    assert_eq!(unsafe { at.add(100).read_volatile() }, 42);
    works(cu!(cuMemHostUnregister(at => *mut u32)));
    is(
        cu!(cuMemHostUnregister(at => *mut u32)),
        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    );
    works(launch(store, 0, &mut [(&raw mut place).cast()]));
    is(cu!(cuCtxSynchronize()), CUDA_ERROR_ILLEGAL_ADDRESS);
}

#[test]
fn functions_are_found_by_name_and_version() {
    let _gpu = Gpu::new();
    let find = |name: &CStr, version: i32, flags: u64| {
        let (mut found, mut status) = (null::<c_void>(), 7u32);
        works(cu!(cuGetProcAddress_v2(
            name.as_ptr() => *const c_char, &raw mut found => *mut *const c_void,
            version => i32, flags => u64, &raw mut status => *mut u32
        )));
        (found, status)
    };
    let named = |name| cuda_emu::functions::function(name).unwrap();
    assert_eq!(find(c"cuMemAlloc", 12_000, 0), (named("cuMemAlloc_v2"), 0));
    assert_eq!(
        find(c"cuCtxCreate", 11_000, 0),
        (named("cuCtxCreate_v2"), 0)
    );
    assert_eq!(
        find(c"cuCtxCreate", 12_050, 0),
        (named("cuCtxCreate_v4"), 0)
    );
    let per_thread = named("cuMemcpyAsync_ptsz");
    assert_eq!(find(c"cuMemcpyAsync", 12_000, 2), (per_thread, 0));
    assert_eq!(find(c"cuNothing", 12_000, 0), (null(), 1));
    // A function that is not supported is there, and says so.
    assert_eq!(
        cu!(cuArrayDestroy(0 => u64)),
        CUDA_ERROR_NOT_SUPPORTED as u32
    );
}

/// In a process of its own, since other tests leave things behind, too.
#[test]
fn leaks_are_counted() {
    const ALONE: &str = "REVOFF_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let this = std::env::current_exe().unwrap();
        let mut again = std::process::Command::new(this);
        let alone = again.args(["--exact", "leaks_are_counted"]).env(ALONE, "1");
        let output = alone.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    let gpu = Gpu::new();
    gpu.stream();
    gpu.alloc(1);
    gpu.pinned(1);
    gpu.load();
    assert_eq!(cuda_emu::counts().leaks, 0);
    drop(gpu);
    assert_eq!(cuda_emu::counts().leaks, 4);
}

/// Copies between two GPUs, and pinned memory that both reach.
#[test]
fn two_gpus_share_memory() {
    let (one, two) = (Gpu::with(false), Gpu::with(false));
    let there = two.alloc(8);
    one.enter();
    let (here, pinned) = (one.alloc(8), one.pinned(8).cast::<u64>());
    let mut own = Box::new(5u64);
    let registered = &raw mut *own;
    works(cu!(cuMemHostRegister_v2(registered => *mut u64, 8 => usize, 0 => u32)));
    // SAFETY: no kernel runs.
    unsafe { pinned.write(7) };
    works(cu!(cuMemcpyHtoD_v2(here => u64, pinned => *mut u64, 8 => usize)));
    works(cu!(cuMemcpyPeer(
        there => u64, two.context => u64, here => u64, one.context => u64, 8 => usize
    )));
    let wrong = cu!(cuMemcpyPeer(
        there => u64, two.context => u64, here => u64, one.context => u64, 16 => usize
    ));
    is(wrong, CUDA_ERROR_INVALID_VALUE);
    two.enter();
    assert_eq!(copy_back(there, 8), Ok(7u64.to_ne_bytes().to_vec()));
    // A kernel of the other GPU writes to the memory that this one has pinned or registered.
    let (add, _) = two.kernel("add");
    for mut to in [pinned, registered] {
        let (mut first, mut second) = (40u32, 2u64);
        let mut params: [*mut c_void; 3] = [
            (&raw mut first).cast(),
            (&raw mut second).cast(),
            (&raw mut to).cast(),
        ];
        works(launch(add, 0, &mut params));
        works(cu!(cuCtxSynchronize()));
        // SAFETY: the kernel has ended.
        assert_eq!(unsafe { to.read_volatile() }, 42);
    }
    one.enter();
    works(cu!(cuMemHostUnregister(registered => *mut u64)));
    works(cu!(cuMemFreeHost(pinned => *mut u64)));
    two.enter();
    let mut address = 0u64;
    let mapped = cu!(cuMemHostGetDevicePointer_v2(
        &raw mut address => *mut u64, pinned => *mut u64, 0 => u32
    ));
    is(mapped, CUDA_ERROR_INVALID_VALUE);
    works(cu!(cuMemFree_v2(there => u64)));
    one.enter();
    works(cu!(cuMemFree_v2(here => u64)));
}

/// As on hardware, a launch with more than 48 KiB needs the kernel's attribute.
#[test]
fn much_shared_memory_is_asked_for() {
    const MAX_DYNAMIC: u32 = 8;
    let gpu = Gpu::new();
    let (add, _) = gpu.kernel("add");
    let sum = gpu.pinned(8).cast::<u64>();
    let run = |shared: u32| {
        let (mut first, mut second, mut to) = (40u32, 2u64, sum);
        let mut params: [*mut c_void; 3] = [
            (&raw mut first).cast(),
            (&raw mut second).cast(),
            (&raw mut to).cast(),
        ];
        let extra: *mut *mut c_void = null_mut();
        cu!(cuLaunchKernel(
            add => u64, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, shared => u32,
            0 => u64, params.as_mut_ptr() => *mut *mut c_void, extra => *mut *mut c_void
        ))
    };
    let attribute = || {
        let mut value = 0i32;
        works(cu!(cuFuncGetAttribute(&raw mut value => *mut i32, MAX_DYNAMIC => u32, add => u64)));
        value
    };
    let set = |value: i32| cu!(cuFuncSetAttribute(add => u64, MAX_DYNAMIC => u32, value => i32));
    assert_eq!(attribute(), 48 << 10);
    works(run(48 << 10));
    is(run(49 << 10), CUDA_ERROR_INVALID_VALUE);
    works(set(100 << 10));
    assert_eq!(attribute(), 100 << 10);
    works(run(100 << 10));
    is(run(101 << 10), CUDA_ERROR_INVALID_VALUE);
    is(set(1 << 20), CUDA_ERROR_INVALID_VALUE);
    is(set(-1), CUDA_ERROR_INVALID_VALUE);
    works(cu!(cuCtxSynchronize()));
}

/// As documented, callbacks run after an error and get it; functions of the host do not run.
#[test]
fn callbacks_run_after_a_fault() {
    static STATUS: AtomicU32 = AtomicU32::new(u32::MAX);
    static CALLED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn callback(_stream: u64, status: u32, _data: *mut c_void) {
        STATUS.store(status, Ordering::SeqCst);
    }
    extern "C" fn function(_data: *mut c_void) {
        CALLED.fetch_add(1, Ordering::SeqCst);
    }
    let gpu = Gpu::new();
    let stream = gpu.stream();
    let (add, _) = gpu.kernel("add");
    let (mut first, mut second, mut nowhere) = (40u32, 2u64, 8u64);
    let mut params: [*mut c_void; 3] = [
        (&raw mut first).cast(),
        (&raw mut second).cast(),
        (&raw mut nowhere).cast(),
    ];
    // Everything is queued before the fault.
    let flag = gpu.pinned(4);
    // SAFETY: nobody uses it yet.
    unsafe { flag.write(0) };
    let wait = cu!(cuStreamWaitValue32_v2(stream => u64, flag => *mut u32, 1 => u32, 1 => u32));
    works(wait);
    works(launch(add, stream, &mut params));
    let none: *mut c_void = null_mut();
    works(cu!(cuLaunchHostFunc(
        stream => u64, function as *const c_void => *const c_void, none => *mut c_void
    )));
    works(cu!(cuStreamAddCallback(
        stream => u64, callback as *const c_void => *const c_void, none => *mut c_void, 0 => u32
    )));
    // SAFETY: the stream reads it atomically.
    unsafe { AtomicU32::from_ptr(flag) }.store(1, Ordering::SeqCst);
    is(
        cu!(cuStreamSynchronize(stream => u64)),
        CUDA_ERROR_ILLEGAL_ADDRESS,
    );
    while STATUS.load(Ordering::SeqCst) == u32::MAX {
        std::thread::sleep(Duration::from_millis(1));
    }
    is(STATUS.load(Ordering::SeqCst), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(CALLED.load(Ordering::SeqCst), 0);
}

/// A copy of rows touches nothing between them, on either side.
#[test]
fn rows_leave_out_what_is_between_them() {
    const PAGE: usize = 4096;
    let gpu = Gpu::new();
    // Two rows at the ends of two pages, with a page between them that cannot be read.
    // SAFETY: new memory.
    let memory = unsafe {
        libc::mmap(
            null_mut(),
            3 * PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(memory, libc::MAP_FAILED);
    let rows = memory.cast::<u8>();
    // SAFETY: within the memory.
    unsafe {
        rows.write_bytes(1, 16);
        rows.add(2 * PAGE).write_bytes(2, 16);
        assert_eq!(
            libc::mprotect(rows.add(PAGE).cast(), PAGE, libc::PROT_NONE),
            0
        );
    }
    let device = gpu.alloc(64);
    works(cu!(cuMemsetD8_v2(device => u64, 9 => u8, 64 => usize)));
    let copy = cudarc::driver::sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: cudarc::driver::sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: memory,
        srcDevice: 0,
        srcArray: null_mut(),
        srcPitch: 2 * PAGE,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: cudarc::driver::sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: null_mut(),
        dstDevice: device,
        dstArray: null_mut(),
        dstPitch: 32,
        WidthInBytes: 16,
        Height: 2,
    };
    works(cu!(cuMemcpy2D_v2(&raw const copy => *const cudarc::driver::sys::CUDA_MEMCPY2D)));
    let found = copy_back(device, 64).unwrap();
    let expected = [[1u8; 16], [9; 16], [2; 16], [9; 16]].concat();
    assert_eq!(found, expected);
    works(cu!(cuMemFree_v2(device => u64)));
    // SAFETY: nothing uses it any more.
    unsafe { libc::munmap(memory, 3 * PAGE) };
}

/// Threads with streams of their own, and with the default stream of each, in one context.
#[test]
fn many_threads_use_one_context() {
    const THREADS: u32 = 16;
    const PER_THREAD: u64 = 2;
    let gpu = Gpu::with(false);
    let (add, _) = gpu.kernel("add");
    let work = |number: u32| {
        gpu.enter();
        let own = gpu.stream();
        for round in 0..20u32 {
            let stream = if round % 2 == 0 { own } else { PER_THREAD };
            let sum = gpu.alloc(8);
            let (mut first, mut second, mut to) = (number, u64::from(round), sum);
            let mut params: [*mut c_void; 3] = [
                (&raw mut first).cast(),
                (&raw mut second).cast(),
                (&raw mut to).cast(),
            ];
            works(launch(add, stream, &mut params));
            let mut found = 0u64;
            works(cu!(cuMemcpyDtoHAsync_v2(
                &raw mut found => *mut u64, sum => u64, 8 => usize, stream => u64
            )));
            works(cu!(cuStreamSynchronize(stream => u64)));
            assert_eq!(found, u64::from(number + round));
            works(cu!(cuMemFree_v2(sum => u64)));
        }
        works(cu!(cuStreamDestroy_v2(own => u64)));
    };
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
    gpu.enter();
    works(cu!(cuCtxSynchronize()));
}

#[test]
fn settings_of_a_context_are_remembered() {
    let _gpu = Gpu::new();
    let (mut cache, mut stack) = (9u32, 0usize);
    works(cu!(cuCtxGetCacheConfig(&raw mut cache => *mut u32)));
    assert_eq!(cache, 0);
    works(cu!(cuCtxSetCacheConfig(2 => u32)));
    is(cu!(cuCtxSetCacheConfig(4 => u32)), CUDA_ERROR_INVALID_VALUE);
    works(cu!(cuCtxGetCacheConfig(&raw mut cache => *mut u32)));
    assert_eq!(cache, 2);
    works(cu!(cuCtxSetLimit(0 => u32, 4096 => usize)));
    works(cu!(cuCtxGetLimit(&raw mut stack => *mut usize, 0 => u32)));
    assert_eq!(stack, 4096);
}
