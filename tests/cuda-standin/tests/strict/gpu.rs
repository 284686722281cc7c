//! A device, through the driver's functions.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::null_mut;

use cudarc::driver::sys::{self, CUcontext, CUfunction, CUmodule, CUresult, CUstream};
use host_rt::Image;

#[track_caller]
pub(crate) fn works(result: CUresult) {
    is(result, CUresult::CUDA_SUCCESS);
}

#[track_caller]
pub(crate) fn is(result: CUresult, expected: CUresult) {
    assert_eq!(result, expected);
}

/// A device whose primary context is retained.
pub(crate) struct Gpu {
    device: i32,
    context: CUcontext,
}

impl Gpu {
    pub(crate) fn retain(device: i32) -> Self {
        let mut context = null_mut();
        // SAFETY: the function writes the handle.
        unsafe {
            works(sys::cuInit(0));
            works(sys::cuDevicePrimaryCtxRetain(&raw mut context, device));
        }
        Self { device, context }
    }

    pub(crate) fn enter(&self) {
        // SAFETY: `self` retains it.
        works(unsafe { sys::cuCtxSetCurrent(self.context) });
    }

    pub(crate) fn stream(&self) -> CUstream {
        let mut stream = null_mut();
        // SAFETY: the function writes the handle.
        works(unsafe { sys::cuStreamCreate(&raw mut stream, 1) });
        stream
    }

    pub(crate) fn synchronize(&self, stream: CUstream) {
        // SAFETY: handles are looked up.
        works(unsafe { sys::cuStreamSynchronize(stream) });
    }

    pub(crate) fn destroy(&self, stream: CUstream) {
        // SAFETY: handles are looked up.
        works(unsafe { sys::cuStreamDestroy_v2(stream) });
    }

    pub(crate) fn alloc(&self, bytes: usize) -> u64 {
        let mut address = 0;
        // SAFETY: the function writes the address.
        works(unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) });
        address
    }

    pub(crate) fn free(&self, address: u64) {
        // SAFETY: nothing is queued that uses it.
        works(unsafe { sys::cuMemFree_v2(address) });
    }

    pub(crate) fn pinned(&self, bytes: usize) -> *mut u8 {
        let mut host = null_mut();
        // SAFETY: the function writes the address.
        works(unsafe { sys::cuMemHostAlloc(&raw mut host, bytes, 2) });
        host.cast()
    }

    pub(crate) fn free_pinned(&self, host: *mut u8) {
        // SAFETY: it is no longer used.
        works(unsafe { sys::cuMemFreeHost(host.cast()) });
    }

    /// A kernel of the tests' image with these sizes of parameters.
    pub(crate) fn kernel(&self, name: &str, sizes: &[usize]) -> (CUmodule, CUfunction) {
        let path = Path::new(env!("REVOFF_IMAGE_KERNELS"));
        let image = Image::open(path).unwrap();
        let params = |kernel: &str| match kernel {
            _ if kernel == name => Some(sizes.to_vec()),
            "add" => Some(vec![4, 8, 8]),
            _ => None,
        };
        let text = cuda_standin::image::ptx(path, &image, params).unwrap();
        let (text, name) = (CString::new(text).unwrap(), CString::new(name).unwrap());
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: the functions write handles; both texts are C strings.
        unsafe {
            let image = text.as_ptr().cast();
            let no_options = (null_mut(), null_mut());
            works(sys::cuModuleLoadDataEx(
                &raw mut module,
                image,
                0,
                no_options.0,
                no_options.1,
            ));
            works(sys::cuModuleGetFunction(
                &raw mut function,
                module,
                name.as_ptr(),
            ));
        }
        (module, function)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: retained once.
        let released = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
        works(released);
    }
}

/// Starts a kernel with one thread.
///
/// # Safety
/// There is a pointer to the value of each parameter.
pub(crate) unsafe fn launch(
    kernel: CUfunction,
    stream: CUstream,
    params: &mut [*mut c_void],
) -> CUresult {
    // SAFETY: the caller promises a pointer to each parameter's value.
    unsafe {
        sys::cuLaunchKernel(
            kernel,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            stream,
            params.as_mut_ptr(),
            null_mut(),
        )
    }
}
