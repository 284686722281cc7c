//! The driver's functions.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{CudaResult, Error};

/// The file that the system's loader searches for.
const LIBRARY: &str = "libcuda.so.1";

/// A function of the host in a stream, for `cuLaunchHostFunc`.
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// The same for `cuStreamAddCallback`.
pub(crate) type Callback = Option<unsafe extern "C" fn(u64, u32, *mut c_void)>;

/// Declares the driver's functions, and a method for each. Handles and device addresses are numbers.
macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        /// A loaded driver, which stays loaded.
        pub(crate) struct Driver {
            $($name: unsafe extern "C" fn($($type),*) -> u32,)*
        }

        impl Driver {
            fn find(library: &'static Library) -> CudaResult<Self> {
                Ok(Self {
                    $(
                        // SAFETY: the driver's function of this name has this type.
                        $name: *unsafe { library.get(stringify!($name)) }
                            .map_err(|_| Error::INSUFFICIENT_DRIVER)?,
                    )*
                })
            }

            $(
                pub(crate) fn $name(&self, $($arg: $type),*) -> CudaResult {
                    // SAFETY: pointers are those of the caller of the runtime's function, who promises
                    // the runtime what the driver requires; or to variables of this library.
                    match unsafe { (self.$name)($($arg),*) } {
                        0 => Ok(()),
                        code => Err(Error(code)),
                    }
                }
            )*
        }
    };
}

functions! {
    cuInit(flags: u32);
    cuDriverGetVersion(version: *mut i32);
    cuGetErrorString(code: u32, text: *mut *const c_char);
    cuGetProcAddress_v2(name: *const c_char, found: *mut *mut c_void, version: i32, flags: u64, status: *mut u32);
    cuDeviceGet(device: *mut i32, ordinal: i32);
    cuDeviceGetCount(count: *mut i32);
    cuDeviceGetName(name: *mut c_char, room: i32, device: i32);
    cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: i32);
    cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    cuDeviceGetPCIBusId(id: *mut c_char, room: i32, device: i32);
    cuDeviceGetByPCIBusId(device: *mut i32, id: *const c_char);
    cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32);
    cuDevicePrimaryCtxRetain(context: *mut u64, device: i32);
    cuDevicePrimaryCtxRelease_v2(device: i32);
    cuDevicePrimaryCtxReset_v2(device: i32);
    cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32);
    cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    cuCtxGetCurrent(context: *mut u64);
    cuCtxSetCurrent(context: u64);
    cuCtxGetDevice(device: *mut i32);
    cuCtxGetLimit(value: *mut usize, limit: u32);
    cuCtxSetLimit(limit: u32, value: usize);
    cuCtxGetCacheConfig(config: *mut u32);
    cuCtxSetCacheConfig(config: u32);
    cuCtxGetStreamPriorityRange(lowest: *mut i32, highest: *mut i32);
    cuCtxEnablePeerAccess(context: u64, flags: u32);
    cuCtxDisablePeerAccess(context: u64);
    cuCtxSynchronize();
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32);
    cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32);
    cuMemAllocAsync(address: *mut u64, bytes: usize, stream: u64);
    cuMemFree_v2(address: u64);
    cuMemFreeAsync(address: u64, stream: u64);
    cuMemFreeHost(host: u64);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemHostAlloc(host: *mut u64, bytes: usize, flags: u32);
    cuMemHostRegister_v2(host: u64, bytes: usize, flags: u32);
    cuMemHostUnregister(host: u64);
    cuMemHostGetDevicePointer_v2(address: *mut u64, host: u64, flags: u32);
    cuMemHostGetFlags(flags: *mut u32, host: u64);
    cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: u64);
    cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32);
    cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: u64);
    cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    cuMemcpyPeerAsync(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize, stream: u64);
    cuMemcpy3DAsync_v2(copy: *const c_void, stream: u64);
    cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: u64);
    cuMemsetD2D8Async(address: u64, pitch: usize, value: u8, width: usize, height: usize, stream: u64);
    cuPointerGetAttribute(value: *mut c_void, attribute: u32, address: u64);
    cuStreamCreateWithPriority(stream: *mut u64, flags: u32, priority: i32);
    cuStreamDestroy_v2(stream: u64);
    cuStreamSynchronize(stream: u64);
    cuStreamQuery(stream: u64);
    cuStreamWaitEvent(stream: u64, event: u64, flags: u32);
    cuStreamAddCallback(stream: u64, function: Callback, data: *mut c_void, flags: u32);
    cuStreamGetFlags(stream: u64, flags: *mut u32);
    cuStreamGetPriority(stream: u64, priority: *mut i32);
    cuStreamGetId(stream: u64, id: *mut u64);
    cuStreamIsCapturing(stream: u64, status: *mut u32);
    cuLaunchHostFunc(stream: u64, function: HostFunction, data: *mut c_void);
    cuEventCreate(event: *mut u64, flags: u32);
    cuEventRecordWithFlags(event: u64, stream: u64, flags: u32);
    cuEventQuery(event: u64);
    cuEventSynchronize(event: u64);
    cuEventDestroy_v2(event: u64);
    cuEventElapsedTime(milliseconds: *mut f32, from: u64, to: u64);
    cuLibraryLoadData(
        library: *mut u64, code: *const c_void, options: *const u32, values: *const *mut c_void, count: u32,
        library_options: *const u32, library_values: *const *mut c_void, library_count: u32
    );
    cuLibraryUnload(library: u64);
    cuLibraryGetKernel(kernel: *mut u64, library: u64, name: *const c_char);
    cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: u64, name: *const c_char);
    cuKernelGetFunction(function: *mut u64, kernel: u64);
    cuFuncGetAttribute(value: *mut i32, attribute: u32, function: u64);
    cuFuncSetAttribute(function: u64, attribute: u32, value: i32);
    cuFuncSetCacheConfig(function: u64, config: u32);
    cuLaunchKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: u64, params: *const *const c_void, extra: *const *const c_void
    );
    cuLaunchKernelEx(config: *const c_void, function: u64, params: *const *const c_void, extra: *const *const c_void);
    cuLaunchCooperativeKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: u64, params: *const *const c_void
    );
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: *mut i32, function: u64, block: i32, shared: usize, flags: u32
    );
    cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: u64, blocks: i32, block: i32);
    cuProfilerStart();
    cuProfilerStop();
}

/// The machine's driver.
pub(crate) fn driver() -> CudaResult<&'static Driver> {
    // The result does not change while a process runs.
    static DRIVER: OnceLock<CudaResult<Driver>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| {
        // SAFETY: the driver's initialisers have no preconditions.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|_| Error::INSUFFICIENT_DRIVER)?;
        // It is never unloaded.
        Driver::find(Box::leak(Box::new(library)))
    });
    found.as_ref().map_err(|error| *error)
}

/// The driver, ready for use.
pub(crate) fn initialized_driver() -> CudaResult<&'static Driver> {
    let driver = driver()?;
    // Repeated calls return at once; in a child that a user of the driver has forked, they fail.
    driver.cuInit(0)?;
    Ok(driver)
}
