//! The functions of NVIDIA's driver that this device calls, and the codes that they return.
//!
//! Types and constants are `cudarc`'s. Its functions are not used, because they return a Rust enum:
//! a newer driver's code that the enum lacks would be undefined behaviour. Here a code is an
//! integer. The compiler checks each signature against the one in `cudarc`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, *};
use libloading::Library;

use crate::device::loader::{loader_reason, without};

/// The file that the system's loader searches for.
const LIBRARY: &str = "libcuda.so.1";

/// The result of a driver function: a `CUresult` of any version of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Code(c_uint);

impl PartialEq<CUresult> for Code {
    fn eq(&self, known: &CUresult) -> bool {
        self.0 == *known as c_uint
    }
}

impl Code {
    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// The driver's name or description of it, by `cuGetErrorName` or `cuGetErrorString`; `None`
    /// for an unknown code.
    fn text(self, function: &CStr) -> Option<&'static str> {
        type Ask = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
        let library = library().ok()?;
        let mut text = std::ptr::null();
        // SAFETY: both functions take a `CUresult`, which C passes as an integer, write a pointer,
        // and may be called at any time.
        let known = unsafe {
            let ask = library.get::<Ask>(function.to_bytes_with_nul()).ok()?;
            ask(self, &raw mut text)
        };
        if known != CUresult::CUDA_SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: a C string of the driver's, which stays loaded.
        unsafe { CStr::from_ptr(text) }.to_str().ok()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text(c"cuGetErrorName"), self.text(c"cuGetErrorString")) {
            (Some(name), Some(text)) => write!(f, "{name} ({text})"),
            (Some(name), None) => f.write_str(name),
            (None, _) => write!(f, "error {}", self.0),
        }
    }
}

/// The driver's library, which stays loaded.
fn library() -> Result<&'static Library, &'static libloading::Error> {
    // The result does not change while a process runs.
    static FOUND: OnceLock<Result<Library, libloading::Error>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            // SAFETY: NVIDIA's initialisers have no preconditions.
            unsafe { Library::new(LIBRARY) }
        })
        .as_ref()
}

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?);)*) => {
        #[expect(non_snake_case, reason = "the driver's names")]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> Code,)*
        }

        impl Functions {
            fn load() -> Result<Self, LoadError> {
                let library = library().map_err(LoadError::Missing)?;
                $(const _: unsafe fn($($type),*) -> CUresult = sys::$name;)*
                Ok(Self {
                    // SAFETY: the driver's function of this name has this signature, as the line
                    // above says; `CUresult` is an `int` for C.
                    $($name: unsafe {
                        *library
                            .get(concat!(stringify!($name), "\0").as_bytes())
                            .map_err(|reason| LoadError::TooOld { function: stringify!($name), reason })?
                    },)*
                })
            }
        }

        $(
            /// The driver's function of this name.
            ///
            /// # Safety
            /// The conditions that NVIDIA documents.
            #[expect(non_snake_case, reason = "the driver's name")]
            #[allow(clippy::too_many_arguments, reason = "as many as the driver's function has")]
            pub(super) unsafe fn $name($($parameter: $type),*) -> Code {
                let Ok(functions) = functions() else {
                    unreachable!("a device was opened, which loads the driver first")
                };
                // SAFETY: the caller's promise.
                unsafe { (functions.$name)($($parameter),*) }
            }
        )*
    };
}

/// The driver's functions, all of which exist.
fn functions() -> Result<&'static Functions, &'static LoadError> {
    static LOADED: OnceLock<Result<Functions, LoadError>> = OnceLock::new();
    LOADED.get_or_init(Functions::load).as_ref()
}

/// Loads the driver. Must be called before any of its functions.
///
/// # Errors
/// There is no driver, or it lacks a function.
pub(super) fn load() -> Result<(), &'static LoadError> {
    functions().map(|_| ())
}

/// The reason why the driver does not load; the message names the package to install.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error(
        "no NVIDIA driver: {LIBRARY} does not load (it comes with the driver, not with the CUDA \
         toolkit): {}",
        without(LIBRARY, &loader_reason(*.0))
    )]
    Missing(&'static libloading::Error),
    /// It lacks a function.
    #[error(
        "the NVIDIA driver lacks {function}, install a newer one: {}",
        loader_reason(reason)
    )]
    TooOld {
        function: &'static str,
        reason: libloading::Error,
    },
}

functions! {
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxSetCurrent(context: CUcontext);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventQuery(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    fn cuInit(flags: c_uint);
    fn cuLaunchKernel(
        function: CUfunction,
        grid_dim_x: c_uint,
        grid_dim_y: c_uint,
        grid_dim_z: c_uint,
        block_dim_x: c_uint,
        block_dim_y: c_uint,
        block_dim_z: c_uint,
        shared_mem_bytes: c_uint,
        stream: CUstream,
        kernel_params: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        data: *mut c_void,
        size: usize,
        name: *const c_char,
        num_options: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    fn cuLinkComplete(state: CUlinkState, cubin_out: *mut *mut c_void, size_out: *mut usize);
    fn cuLinkCreate_v2(
        num_options: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
        state_out: *mut CUlinkState,
    );
    fn cuLinkDestroy(state: CUlinkState);
    fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    fn cuMemFreeHost(memory: *mut c_void);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostGetDevicePointer_v2(device: *mut CUdeviceptr, memory: *mut c_void, flags: c_uint);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    );
    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        num_options: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuPointerGetAttribute(
        data: *mut c_void,
        attribute: CUpointer_attribute,
        address: CUdeviceptr,
    );
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamQuery(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver may be newer than any list of its codes.
    #[test]
    fn a_code_that_nobody_knows_is_a_number() {
        let code = Code(123_456);
        assert!(code != CUresult::CUDA_SUCCESS && code != CUresult::CUDA_ERROR_UNKNOWN);
        assert_eq!(code.to_string(), "error 123456");
        assert!(Code(719) == CUresult::CUDA_ERROR_LAUNCH_FAILED);
    }
}
