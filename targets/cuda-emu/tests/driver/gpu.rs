//! A GPU, through the driver's functions.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use cuda_emu::{GpuOptions, Options};
use cudarc::driver::sys::CUresult;

/// Calls a driver function, by its name, with arguments of these types. The result is a number.
macro_rules! cu {
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {{
        let function: extern "C" fn($($type),*) -> u32 = crate::gpu::function(stringify!($name));
        function($($argument),*)
    }};
}
pub(crate) use cu;

/// The driver's function with a name.
pub(crate) fn function<F: Copy>(name: &str) -> F {
    let function = cuda_emu::functions::function(name).expect(name);
    assert_eq!(size_of::<F>(), size_of_val(&function));
    // SAFETY: `F` is the function's type, as the test writes it.
    unsafe { std::mem::transmute_copy(&function) }
}

#[track_caller]
pub(crate) fn works(result: u32) {
    is(result, CUresult::CUDA_SUCCESS);
}

#[track_caller]
pub(crate) fn is(result: u32, expected: CUresult) {
    assert_eq!(result, expected as u32, "expected {expected:?}");
}

/// The kernels of the tests.
pub(crate) const KERNELS: &str = include_str!("kernels.ptx");

/// An emulated GPU of the test's own, and a context that is this thread's current one.
pub(crate) struct Gpu {
    pub(crate) number: i32,
    pub(crate) context: u64,
    /// The driver's messages.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl Gpu {
    pub(crate) fn new() -> Self {
        Self::with(true)
    }

    pub(crate) fn with(is_strict: bool) -> Self {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&said);
        let number = cuda_emu::add_gpu(GpuOptions {
            machine: Options {
                memory: 64 << 20,
                processors: 2,
                ..Options::default()
            },
            is_strict,
            report: Arc::new(move |line| heard.lock().unwrap().push(line.to_owned())),
        });
        let number = number.expect("memory");
        works(cu!(cuInit(0 => u32)));
        let mut context = 0u64;
        works(cu!(cuDevicePrimaryCtxRetain(&raw mut context => *mut u64, number => i32)));
        let gpu = Self {
            number,
            context,
            said,
        };
        gpu.enter();
        gpu
    }

    pub(crate) fn enter(&self) {
        works(cu!(cuCtxSetCurrent(self.context => u64)));
    }

    /// A stream that waits for no other.
    pub(crate) fn stream(&self) -> u64 {
        let mut stream = 0;
        works(cu!(cuStreamCreate(&raw mut stream => *mut u64, 1 => u32)));
        stream
    }

    pub(crate) fn alloc(&self, bytes: usize) -> u64 {
        let mut address = 0;
        works(cu!(cuMemAlloc_v2(&raw mut address => *mut u64, bytes => usize)));
        address
    }

    pub(crate) fn pinned(&self, bytes: usize) -> *mut u32 {
        let mut host = null_mut();
        works(cu!(cuMemHostAlloc(&raw mut host => *mut *mut u32, bytes => usize, 2 => u32)));
        host
    }

    pub(crate) fn load(&self) -> u64 {
        let text = CString::new(KERNELS).unwrap();
        let mut module = 0;
        works(cu!(cuModuleLoadData(&raw mut module => *mut u64, text.as_ptr() => *const i8)));
        module
    }

    /// A kernel of the tests, and its module.
    pub(crate) fn kernel(&self, name: &str) -> (u64, u64) {
        let (module, name, mut function) = (self.load(), CString::new(name).unwrap(), 0);
        works(cu!(cuModuleGetFunction(
            &raw mut function => *mut u64, module => u64, name.as_ptr() => *const i8
        )));
        (function, module)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let released = cu!(cuDevicePrimaryCtxRelease_v2(self.number => i32));
        cuda_emu::remove_gpu(self.number);
        if !std::thread::panicking() {
            works(released);
        }
    }
}

/// Starts a kernel with one thread.
pub(crate) fn launch(function: u64, stream: u64, params: &mut [*mut c_void]) -> u32 {
    launch_grid(function, ([1, 1, 1], [1, 1, 1]), stream, params)
}

pub(crate) fn launch_grid(
    function: u64,
    ([gx, gy, gz], [x, y, z]): ([u32; 3], [u32; 3]),
    stream: u64,
    params: &mut [*mut c_void],
) -> u32 {
    let extra: *mut *mut c_void = null_mut();
    cu!(cuLaunchKernel(
        function => u64,
        gx => u32, gy => u32, gz => u32, x => u32, y => u32, z => u32,
        0 => u32,
        stream => u64,
        params.as_mut_ptr() => *mut *mut c_void,
        extra => *mut *mut c_void,
    ))
}
