//! The calls.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use super::driver::cu;
use super::sequence::{Kind, Sequence};
use crate::input::{Operands, calls_of};

calls_of! {
    CreateContext DestroyContext SetContext PushContext PopContext SynchronizeContext SetLimit
    RetainPrimary ReleasePrimary ResetPrimary
    Alloc AllocPitch AllocHost AllocManaged AllocAsync Free FreeHost FreeAsync Register Unregister
    CopyFrom CopyTo CopyWithin CopyAny CopyPeer CopyRows Fill FillRows Describe
    CreatePool DestroyPool UsePool SetPool
    CreateStream DestroyStream Synchronize CreateEvent DestroyEvent RecordEvent WaitEvent SynchronizeEvent
    QueryEvents QueueFunction WaitValue WriteValue
    LoadModule UnloadModule GetFunction GetGlobal DescribeFunction Launch LaunchEx
    LoadLibrary UnloadLibrary GetKernel Occupancy
    CreateLinker AddToLinker CompleteLinker DestroyLinker
    Query
}

impl Sequence<'_> {
    /// Makes a call. Returns its code.
    pub(super) fn perform(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        use Call::*;
        match call {
            CreateContext => self.create_context(operands),
            DestroyContext => {
                let context = self.context(operands);
                let has_work = operands.byte() % 2 == 1;
                self.destroy_context(context, has_work, || cu!(cuCtxDestroy_v2(context => u64)))
            }
            SetContext => cu!(cuCtxSetCurrent(self.context(operands) => u64)),
            PushContext => cu!(cuCtxPushCurrent_v2(self.context(operands) => u64)),
            PopContext => cu!(cuCtxPopCurrent_v2(null_mut() => *mut u64)),
            SynchronizeContext => cu!(cuCtxSynchronize()),
            SetLimit => {
                let which = operands.of(&[0, 1, 2, 3, 4, 77, u32::MAX]);
                let value = operands.of(&[0, 1 << 10, 1 << 20, 1 << 40, usize::MAX]);
                cu!(cuCtxSetLimit(which => u32, value => usize))
            }
            RetainPrimary => self.retain(operands),
            ReleasePrimary => self.release(operands),
            ResetPrimary => {
                let gpu = self.gpu(operands);
                let at = self.gpus.own.iter().position(|&own| own == gpu);
                let reset = || cu!(cuDevicePrimaryCtxReset_v2(gpu => i32));
                let Some(at) = at else { return reset() };
                self.retained[at] = 0;
                self.destroy_primary(at, operands.byte() % 2 == 1, reset)
            }
            Alloc | AllocPitch | AllocHost | AllocManaged | AllocAsync | Free | FreeHost
            | FreeAsync | Register | Unregister | CopyFrom | CopyTo | CopyWithin | CopyAny
            | CopyPeer | CopyRows | Fill | FillRows | Describe | CreatePool | DestroyPool
            | UsePool | SetPool => self.use_memory(call, operands),
            CreateStream | DestroyStream | Synchronize | CreateEvent | DestroyEvent
            | RecordEvent | WaitEvent | SynchronizeEvent | QueryEvents | QueueFunction
            | WaitValue | WriteValue => self.use_streams(call, operands),
            LoadModule | UnloadModule | GetFunction | GetGlobal | DescribeFunction | Launch
            | LaunchEx | LoadLibrary | UnloadLibrary | GetKernel | Occupancy | CreateLinker
            | AddToLinker | CompleteLinker | DestroyLinker => self.use_code(call, operands),
            Query => query(operands),
        }
    }

    fn context(&self, operands: &mut Operands<'_>) -> u64 {
        self.pick_any(&[Kind::Context, Kind::Primary], operands)
    }

    fn create_context(&mut self, operands: &mut Operands<'_>) -> u32 {
        let gpu = self.gpu(operands);
        let flags = operands.of(&[0, 4, 8, 0xff, 0x100]);
        let version = operands.byte() % 3;
        self.make(Kind::Context, 0, operands, |out| match version {
            0 => cu!(cuCtxCreate_v2(out => *mut u64, flags => u32, gpu => i32)),
            1 => cu!(cuCtxCreate_v3(
                out => *mut u64, null() => *const c_void, 0 => i32, flags => u32, gpu => i32
            )),
            _ => cu!(cuCtxCreate_v4(
                out => *mut u64, null() => *const c_void, flags => u32, gpu => i32
            )),
        })
    }

    /// A primary context belongs to its GPU, and is one object however often it is retained.
    fn retain(&mut self, operands: &mut Operands<'_>) -> u32 {
        let (gpu, mut context) = (self.gpu(operands), 0);
        let is_null = operands.is_rare(8);
        let out = if is_null {
            null_mut()
        } else {
            &raw mut context
        };
        let code = cu!(cuDevicePrimaryCtxRetain(out => *mut u64, gpu => i32));
        if code == 0 {
            assert!(!is_null, "a context was retained for nobody");
            let at = self.gpus.own.iter().position(|&own| own == gpu);
            self.retained[at.expect("a GPU of sequences")] += 1;
            let mut known = self.objects.live_of(&[Kind::Primary]);
            if !known.any(|primary| primary.value == context) {
                let gpu = gpu as u64;
                self.objects.add(Kind::Primary, context, 0, gpu);
            }
        }
        code
    }

    fn release(&mut self, operands: &mut Operands<'_>) -> u32 {
        let gpu = self.gpu(operands);
        let release = || cu!(cuDevicePrimaryCtxRelease_v2(gpu => i32));
        let at = self.gpus.own.iter().position(|&own| own == gpu);
        let Some(at) = at else { return release() };
        match self.retained[at] {
            0 => {
                let code = release();
                assert_ne!(code, 0, "a context that nobody has retained was released");
                code
            }
            1 => {
                self.retained[at] = 0;
                self.destroy_primary(at, operands.byte() % 2 == 1, release)
            }
            _ => {
                self.retained[at] -= 1;
                release()
            }
        }
    }

    /// Destroys the primary context of a GPU, if it has one.
    pub(super) fn destroy_primary(
        &mut self,
        at: usize,
        has_work: bool,
        destroy: impl FnOnce() -> u32,
    ) -> u32 {
        let gpu = self.gpus.own[at] as u64;
        let mut all = self.objects.live_of(&[Kind::Primary]);
        match all.find(|primary| primary.bytes == gpu) {
            Some(primary) => self.destroy_context(primary.value, has_work, destroy),
            None => destroy(),
        }
    }
}

/// A call that changes nothing.
fn query(operands: &mut Operands<'_>) -> u32 {
    let mut room = [0u64; 16];
    let which = operands.byte();
    let out = match operands.is_rare(8) {
        true => null_mut(),
        false => room.as_mut_ptr(),
    };
    let number = operands.of(&[0, 1, 2, 17, 100, 160, u32::MAX]);
    let device = operands.of(&[0, 1, 2, 99, -1]);
    match which % 16 {
        0 => cu!(cuMemGetInfo_v2(out => *mut u64, out => *mut u64)),
        1 => cu!(cuDeviceGetAttribute(out.cast() => *mut i32, number => u32, device => i32)),
        2 => cu!(cuDeviceGet(out.cast() => *mut i32, device => i32)),
        3 => {
            cu!(cuDeviceGetName(out.cast() => *mut c_char, number.min(64) as i32 => i32, device => i32))
        }
        4 => {
            cu!(cuDeviceGetPCIBusId(out.cast() => *mut c_char, number.min(64) as i32 => i32, device => i32))
        }
        5 => cu!(cuDeviceTotalMem_v2(out => *mut u64, device => i32)),
        6 => cu!(cuCtxGetLimit(out => *mut u64, number => u32)),
        7 => cu!(cuCtxGetStreamPriorityRange(out.cast() => *mut i32, out.cast() => *mut i32)),
        8 => cu!(cuCtxGetId(u64::from(number) => u64, out => *mut u64)),
        9 => cu!(cuCtxSetCacheConfig(number => u32)),
        10 => {
            cu!(cuDevicePrimaryCtxGetState(device => i32, out.cast() => *mut u32, out.cast() => *mut i32))
        }
        11 => cu!(cuGetErrorName(number => u32, out.cast() => *mut *const c_char)),
        12 => {
            cu!(cuDeviceCanAccessPeer(out.cast() => *mut i32, device => i32, number as i32 => i32))
        }
        13 => cu!(cuDeviceGetUuid_v2(out.cast() => *mut c_void, device => i32)),
        14 => cu!(cuCtxGetApiVersion(u64::from(number) => u64, out.cast() => *mut u32)),
        _ => {
            cu!(cuDeviceGetByPCIBusId(out.cast() => *mut i32, c"0000:01:00.0".as_ptr() => *const c_char))
        }
    }
}
