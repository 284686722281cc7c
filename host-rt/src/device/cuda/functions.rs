//! The functions of NVIDIA's driver that this device calls, and the codes that they return.
//!
//! Types and constants are `cudarc`'s. Its functions are not used, because they return a Rust enum:
//! a newer driver's code that the enum lacks would be undefined behaviour. Here a code is an
//! integer. The compiler checks each signature against the one in `cudarc`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;

use cudarc::driver::sys::{self, *};

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
}

/// `cuGetErrorName` and `cuGetErrorString`, which take any code.
type Describe = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?);)*) => {
        /// The functions of one driver.
        #[expect(non_snake_case, reason = "the driver's names")]
        #[derive(Debug)]
        pub(super) struct Functions {
            error_name: Describe,
            error_string: Describe,
            $($name: unsafe extern "C" fn($($type),*) -> Code,)*
        }

        impl Functions {
            /// The functions that `find` finds by their names.
            ///
            /// # Safety
            /// `find` returns the driver's functions of these names, and they stay loaded.
            ///
            /// # Errors
            /// The name of one that is missing, and the reason.
            pub(super) unsafe fn find<E>(
                find: impl Fn(&str) -> Result<*const c_void, E>,
            ) -> Result<Self, (&'static str, E)> {
                $(const _: unsafe fn($($type),*) -> CUresult = sys::$name;)*
                let find = |name: &'static str| find(name).map_err(|reason| (name, reason));
                // SAFETY: the driver's functions of these names have these signatures, as the lines
                // above say; `CUresult` is an `int` for C.
                Ok(unsafe {
                    Self {
                        error_name: transmute::<*const c_void, Describe>(find("cuGetErrorName")?),
                        error_string: transmute::<*const c_void, Describe>(find("cuGetErrorString")?),
                        $($name: transmute::<*const c_void, unsafe extern "C" fn($($type),*) -> Code>(
                            find(stringify!($name))?,
                        ),)*
                    }
                })
            }

            $(
                /// The driver's function of this name.
                ///
                /// # Safety
                /// The conditions that NVIDIA documents.
                #[expect(non_snake_case, reason = "the driver's name")]
                #[allow(clippy::too_many_arguments, reason = "as many as the driver's function has")]
                pub(super) unsafe fn $name(&self, $($parameter: $type),*) -> Code {
                    // SAFETY: the caller's promise.
                    unsafe { (self.$name)($($parameter),*) }
                }
            )*
        }
    };
}

impl Functions {
    /// A code's name and description; `error 123` for an unknown one.
    pub(super) fn describe(&self, code: Code) -> String {
        let text = |ask: Describe| {
            let mut text = std::ptr::null();
            // SAFETY: both functions take any code, and write a pointer.
            let known = unsafe { ask(code, &raw mut text) };
            if known != CUresult::CUDA_SUCCESS || text.is_null() {
                return None;
            }
            // SAFETY: a C string of the driver's, which stays loaded.
            unsafe { CStr::from_ptr(text) }.to_str().ok()
        };
        match (text(self.error_name), text(self.error_string)) {
            (Some(name), Some(text)) => format!("{name} ({text})"),
            (Some(name), None) => name.to_owned(),
            (None, _) => format!("error {}", code.0),
        }
    }
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
    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
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
        assert!(Code(719) == CUresult::CUDA_ERROR_LAUNCH_FAILED);
    }
}
