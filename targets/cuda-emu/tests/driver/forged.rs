//! Random calls, with handles and addresses that are valid, stale or nonsense: each call returns, and
//! valid ones still work afterwards.

use std::ffi::{CString, c_char, c_void};
use std::ptr::null_mut;

use crate::gpu::{Gpu, KERNELS, cu, works};
use crate::random::{Random, rounds};

/// Calls, unless the environment asks for more.
const ROUNDS: u64 = 20_000;

/// Values that earlier calls have returned, still valid or not.
#[derive(Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// A number for a handle or an address.
    fn pick(&self, random: &mut Random) -> u64 {
        match random.below(4) {
            0 => [0, 1, 2, u64::MAX, 1 << 60, 0x1000_0000_0000_0000][random.below(6)],
            1 => random.next(),
            _ if self.0.is_empty() => 0,
            _ => self.0[random.below(self.0.len())].wrapping_add([0, 0, 0, 4][random.below(4)]),
        }
    }
}

#[test]
fn random_calls_return() {
    let mut gpu = Gpu::with(false);
    let kernels = CString::new(KERNELS).unwrap();
    let (mut random, mut seen) = (Random::new(1), Seen::default());
    let mut succeeded = 0u64;
    let mut buffer = vec![0u8; 4096];
    let buffer = buffer.as_mut_ptr();
    for round in 0..rounds(ROUNDS) {
        if round % 5000 == 4999 {
            // Objects that were never freed slow everything down.
            drop(gpu);
            gpu = Gpu::with(false);
        }
        let (a, b, c) = (
            seen.pick(&mut random),
            seen.pick(&mut random),
            seen.pick(&mut random),
        );
        let small = random.below(4097);
        let (mut out, mut out2) = (0u64, 0u64);
        let (out, out2) = (&raw mut out, &raw mut out2);
        let code = match random.below(38) {
            0 => cu!(cuMemAlloc_v2(out => *mut u64, small => usize)),
            1 => cu!(cuMemAllocAsync(out => *mut u64, small => usize, a => u64)),
            2 => cu!(cuMemFree_v2(a => u64)),
            3 => cu!(cuMemFreeAsync(a => u64, b => u64)),
            4 => {
                cu!(cuMemHostAlloc(out => *mut u64, small => usize, random.below(9) as u32 => u32))
            }
            5 => cu!(cuMemFreeHost(a => u64)),
            6 => cu!(cuMemcpyHtoD_v2(a => u64, buffer => *mut u8, small.min(4096) => usize)),
            7 => cu!(cuMemcpyDtoH_v2(buffer => *mut u8, a => u64, small.min(4096) => usize)),
            8 => cu!(cuMemcpyDtoDAsync_v2(a => u64, b => u64, small => usize, c => u64)),
            9 => cu!(cuMemsetD32Async(a => u64, 7 => u32, small => usize, b => u64)),
            10 => {
                cu!(cuMemsetD2D8_v2(a => u64, small => usize, 7 => u8, b as usize => usize, small => usize))
            }
            11 => cu!(cuStreamCreate(out => *mut u64, random.below(3) as u32 => u32)),
            12 => cu!(cuStreamDestroy_v2(a => u64)),
            13 => cu!(cuStreamQuery(a => u64)),
            14 => cu!(cuStreamSynchronize(a => u64)),
            15 => cu!(cuStreamWaitEvent(a => u64, b => u64, 0 => u32)),
            16 => cu!(cuEventCreate(out => *mut u64, random.below(9) as u32 => u32)),
            17 => cu!(cuEventDestroy_v2(a => u64)),
            18 => cu!(cuEventRecord(a => u64, b => u64)),
            19 => cu!(cuEventQuery(a => u64)),
            20 => cu!(cuEventSynchronize(a => u64)),
            21 => cu!(cuEventElapsedTime(out.cast() => *mut f32, a => u64, b => u64)),
            22 => cu!(cuModuleLoadData(out => *mut u64, kernels.as_ptr() => *const c_char)),
            23 => cu!(cuModuleUnload(a => u64)),
            24 => {
                cu!(cuModuleGetFunction(out => *mut u64, a => u64, c"add".as_ptr() => *const c_char))
            }
            25 => {
                cu!(cuModuleGetGlobal_v2(out => *mut u64, out2 => *mut u64, a => u64, c"counter".as_ptr() => *const c_char))
            }
            26 => {
                cu!(cuFuncGetAttribute(out.cast() => *mut i32, random.below(20) as u32 => u32, a => u64))
            }
            27 => {
                cu!(cuPointerGetAttribute(out.cast() => *mut c_void, random.below(24) as u32 => u32, a => u64))
            }
            28 => cu!(cuMemGetAddressRange_v2(out => *mut u64, out2 => *mut u64, a => u64)),
            29 => {
                cu!(cuCtxCreate_v2(out => *mut u64, random.below(300) as u32 => u32, random.below(3) as i32 => i32))
            }
            30 => cu!(cuCtxDestroy_v2(a => u64)),
            31 => cu!(cuCtxSetCurrent(a => u64)),
            32 => {
                cu!(cuDeviceGetAttribute(out.cast() => *mut i32, random.below(160) as u32 => u32, random.below(3) as i32 => i32))
            }
            33 => {
                cu!(cuMemAllocManaged(out => *mut u64, small => usize, random.below(4) as u32 => u32))
            }
            34 => cu!(cuMemHostGetDevicePointer_v2(out => *mut u64, a => u64, 0 => u32)),
            35 => {
                cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(out.cast() => *mut i32, a => u64, random.below(2000) as i32 => i32, small => usize))
            }
            36 => {
                // The sum goes to memory that may be anything; parameters are valid.
                let (mut first, mut second, mut sum) = (1u32, 2u64, c);
                let mut params: [*mut c_void; 3] = [
                    (&raw mut first).cast(),
                    (&raw mut second).cast(),
                    (&raw mut sum).cast(),
                ];
                // Faults would end everything, so only addresses that are memory.
                let is_memory =
                    cu!(cuMemGetAddressRange_v2(out => *mut u64, out2 => *mut u64, c => u64)) == 0;
                // SAFETY: this thread's variables.
                let room = unsafe { out.read() + out2.read() };
                if is_memory && c.is_multiple_of(8) && room - c >= 8 {
                    let none: *mut *mut c_void = null_mut();
                    let block = random.below(3) as u32;
                    cu!(cuLaunchKernel(
                        a => u64, 1 => u32, 1 => u32, 1 => u32, block => u32, 1 => u32, 1 => u32,
                        0 => u32, b => u64, params.as_mut_ptr() => *mut *mut c_void,
                        none => *mut *mut c_void
                    ))
                } else {
                    1
                }
            }
            _ => cu!(cuCtxPopCurrent_v2(out => *mut u64)),
        };
        if code == 0 {
            succeeded += 1;
            // SAFETY: this thread's variable.
            let new = unsafe { out.read() };
            if new > 1 << 32 {
                seen.0.push(new);
            }
        }
        if seen.0.len() > 400 {
            seen.0.swap_remove(random.below(200));
        }
        // Most calls need a context, and memory that is freed before its copy breaks it.
        if random.below(8) == 0 {
            gpu.enter();
            if cu!(cuMemGetInfo_v2(out => *mut u64, out2 => *mut u64)) != 0 {
                drop(gpu);
                gpu = Gpu::with(false);
            }
        }
    }
    assert!(succeeded > 500, "{succeeded} calls have done something");
    drop(gpu);
    let gpu = Gpu::new();
    let (add, _) = gpu.kernel("add");
    let sum = gpu.pinned(8).cast::<u64>();
    let (mut first, mut second, mut place) = (40u32, 2u64, sum);
    let mut params: [*mut c_void; 3] = [
        (&raw mut first).cast(),
        (&raw mut second).cast(),
        (&raw mut place).cast(),
    ];
    works(crate::gpu::launch(add, 0, &mut params));
    works(cu!(cuCtxSynchronize()));
    // SAFETY: the kernel has ended.
    assert_eq!(unsafe { sum.read_volatile() }, 42);
}
