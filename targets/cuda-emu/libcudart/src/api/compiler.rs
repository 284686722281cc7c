//! The functions that compilers call: before `main` for each fat binary and what it contains, and for each
//! `<<<>>>`.

use std::ffi::{CStr, c_char, c_void};

use crate::context::in_context;
use crate::driver::initialized_driver;
use crate::error::{CudaResult, Error};
use crate::pointers::write_out;
use crate::registry;
use crate::result::to_c;
use crate::thread::{Configuration, Dim3, pop, push};

/// The number of a fat binary, in place of a pointer: compilers only pass it on.
type Binary = usize;

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> Binary {
    registry::add_binary(wrapper)
}

/// Everything in a fat binary is registered.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_binary: Binary) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(binary: Binary) {
    let Some(library) = registry::remove_binary(binary) else {
        return;
    };
    // The program exits or unloads a library, and ignores errors.
    let _ = initialized_driver().and_then(|driver| driver.cuLibraryUnload(library));
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_binary: Binary) -> c_char {
    1
}

/// A name that a compiler passes.
fn name<'a>(name: *const c_char) -> Option<&'a CStr> {
    // SAFETY: not null, so a C string, a constant of the program.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFunction(
    binary: Binary,
    host: usize,
    _device: *mut c_char,
    device_name: *const c_char,
    _threads: i32,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp_size: *mut i32,
) {
    if let Some(name) = name(device_name) {
        registry::add_kernel(binary, host, name);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    binary: Binary,
    host: usize,
    _device: *mut c_char,
    device_name: *const c_char,
    _extern: i32,
    _bytes: usize,
    _constant: i32,
    _global: i32,
) {
    if let Some(name) = name(device_name) {
        registry::add_variable(binary, host, name);
    }
}

/// `__managed__` variables are not supported: no kernel of their fat binary can be launched.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterManagedVar(
    binary: Binary,
    _host: *mut *mut c_void,
    _device: *mut c_char,
    _device_name: *const c_char,
    _extern: i32,
    _bytes: usize,
    _constant: i32,
    _global: i32,
) {
    registry::reject_binary(binary);
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
) -> u32 {
    push(Configuration {
        grid,
        block,
        shared,
        stream,
    });
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut u64,
) -> u32 {
    to_c(|| {
        let popped = pop().ok_or(Error::MISSING_CONFIGURATION)?;
        // SAFETY: the compiler passes variables of these types.
        unsafe {
            grid.write(popped.grid);
            block.write(popped.block);
            shared.write(popped.shared);
            stream.write(popped.stream);
        }
        Ok(())
    })
}

fn get_kernel(kernel: *mut u64, host: u64) -> CudaResult {
    write_out(kernel, registry::kernel(in_context()?, host)?)
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaGetKernel(kernel: *mut u64, host: u64) -> u32 {
    to_c(|| get_kernel(kernel, host))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetKernel(kernel: *mut u64, host: u64) -> u32 {
    to_c(|| get_kernel(kernel, host))
}
