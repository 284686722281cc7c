//! Kernels.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUfunction_attribute as F;
use host_rt::device::{Grid, Params};
use standin::launch;
use emu_driver::process::lock;

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::device::{MAX_BLOCK, MAX_GRID};
use crate::driver::with_context;
use crate::module::{Kernel, Module};
use crate::pointers::Out;

/// Names in a list of extra arguments: its end, the address of a buffer with all parameters, and
/// the buffer's size.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

impl Context {
    fn module_of(&self, function: u64) -> Answer<Arc<Module>> {
        let owned = lock(&self.owned);
        let mut modules = owned.modules.values();
        let found = modules.find(|module| module.kernel(function).is_some());
        found.cloned().ok_or(Code::INVALID_HANDLE)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncGetAttribute(value: Out<i32>, attribute: u32, function: u64) -> u32 {
    const MAX_THREADS: u32 = F::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as u32;
    const LAST: u32 = F::CU_FUNC_ATTRIBUTE_BINARY_VERSION as u32;
    with_context("cuFuncGetAttribute", |context| {
        context.module_of(function)?;
        match attribute {
            MAX_THREADS => value.set(MAX_BLOCK as i32),
            // Registers, memory: unknown here.
            1..=LAST => value.set(0),
            _ => Err(Code::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: u64,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: u64,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> u32 {
    with_context("cuLaunchKernel", |context| {
        let stream = context.stream(stream)?;
        let module = context.module_of(function)?;
        let (_, kernel) = module.kernel(function).ok_or(Code::INVALID_HANDLE)?;
        let fits = (1..=MAX_GRID).contains(&grid_x) && (1..=MAX_BLOCK).contains(&block_x);
        // The `host` device has one dimension, and no shared memory.
        if !fits || (grid_y, grid_z, block_y, block_z) != (1, 1, 1, 1) || shared_bytes != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let params = match (params.is_null(), extra.is_null()) {
            // SAFETY: the driver's caller promises one pointer per parameter, each to its value.
            (false, true) => unsafe { pointed_to(kernel, params) },
            // SAFETY: the driver's caller promises a list as documented.
            (true, false) => unsafe { packed(kernel, extra)? },
            (true, true) if kernel.params.is_empty() => Params::default(),
            _ => return Err(Code::INVALID_VALUE),
        };
        let kernel = kernel.code;
        let grid = Grid {
            teams: grid_x,
            threads: block_x,
        };
        let module = Arc::downgrade(&module);
        stream.queue(move |queue| {
            // None if it was unloaded before its turn.
            let module = module.upgrade().ok_or(Code::ILLEGAL_ADDRESS)?;
            let (code, _) = module.kernel(function).ok_or(Code::ILLEGAL_ADDRESS)?;
            // SAFETY: the parameters match the kernel, by the promise of the driver's caller.
            let running = unsafe { queue.launch(code, kernel, grid, &params, launch::context()) };
            let running = running.map_err(|_| Code::LAUNCH_OUT_OF_RESOURCES)?;
            match running.wait(None) {
                Some(Ok(())) => Ok(()),
                Some(Err(_)) | None => Err(Code::ILLEGAL_INSTRUCTION),
            }
        })
    })
}

/// # Safety
/// There is one pointer per parameter, each to a value of its size.
unsafe fn pointed_to(kernel: &Kernel, params: *const *const c_void) -> Params {
    let sizes = kernel.params.iter().enumerate();
    // SAFETY: the caller promises one pointer per parameter.
    sizes
        .map(|(i, &size)| unsafe { bytes_at(params.add(i).read(), size) })
        .collect()
}

/// The parameters in a buffer, each at the next multiple of its size.
///
/// # Safety
/// `extra` is a list of names and values that ends with [`END`]; buffer and size are valid.
unsafe fn packed(kernel: &Kernel, extra: *const *const c_void) -> Answer<Params> {
    let (mut buffer, mut room) = (None, None);
    for i in (0..).step_by(2) {
        // SAFETY: before the end, the list continues.
        let (name, value) = unsafe { (extra.add(i).read(), extra.add(i + 1)) };
        match name.addr() {
            END => break,
            // SAFETY: the names are followed by their values.
            BUFFER => buffer = Some(unsafe { value.read() }),
            // SAFETY: the names are followed by their values; this one points to a number.
            BUFFER_SIZE => room = Some(unsafe { value.read().cast::<usize>().read() }),
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    let (Some(buffer), Some(room)) = (buffer, room) else {
        return Err(Code::INVALID_VALUE);
    };
    let mut end = 0usize;
    let mut params = Params::default();
    for &size in &kernel.params {
        let at = end.next_multiple_of(size.next_power_of_two().min(8));
        end = at + size;
        if end > room {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: within the buffer, whose size the caller vouches for.
        params.push(unsafe { bytes_at(buffer.byte_add(at), size) });
    }
    Ok(params)
}

/// # Safety
/// There are `size` bytes at `at`, at least one, which stay as they are while the result is used.
unsafe fn bytes_at<'a>(at: *const c_void, size: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(at.cast(), size) }
}
