//! OpenMP's routines for device memory, and for its association with host memory.

use std::ffi::{c_int, c_void};

use revoff_host::ranges::AddrRange;

use super::devices::{device, omp_get_initial_device};
use super::{DONE, FAILED};
use crate::device::request::Refused;
use crate::report::message::{self, Failed};
use crate::report::profile;

/// Memory of a device, or of the host, which [`free`] with the same number frees.
fn alloc(bytes: usize, number: c_int) -> *mut c_void {
    let _span = profile::span("omp_target_alloc", || {
        format!("dst_dev={number};size={bytes}")
    });
    if bytes == 0 {
        return std::ptr::null_mut();
    }
    match device(number) {
        // SAFETY: `malloc` may be called at any time, with any size.
        None => unsafe { libc::malloc(bytes) },
        Some(device) => match device.alloc_by_address(bytes as u64) {
            Ok(address) => address as usize as *mut c_void,
            Err(Failed) => std::ptr::null_mut(),
        },
    }
}

/// Frees memory of [`alloc`].
///
/// # Safety
/// If `number` is the host's, `memory` is null, or [`alloc`] with this number returned it, and it was
/// not freed since.
unsafe fn free(memory: *mut c_void, number: c_int) {
    let _span = profile::span("omp_target_free", String::new);
    if memory.is_null() {
        return;
    }
    match device(number) {
        // SAFETY: `alloc` got it from `malloc`, by the caller's promise.
        None => unsafe { libc::free(memory) },
        Some(device) if device.free_by_address(memory.addr() as u64) => {}
        Some(device) => {
            let what = format!(
                "Failed to deallocate device ptr {memory:?}: omp_target_alloc has not allocated it on device {}",
                device.number
            );
            message::fatal(i64::from(number), &what);
        }
    }
}

macro_rules! allocators {
    ($($alloc:ident, $free:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $alloc(bytes: usize, number: c_int) -> *mut c_void {
            alloc(bytes, number)
        }

        /// # Safety
        /// `memory` is null, or the function above returned it for this device, and it was not freed
        /// since.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $free(memory: *mut c_void, number: c_int) {
            // SAFETY: the function above calls `alloc`, so the caller's promise is that of `free`.
            unsafe { free(memory, number) }
        }
    )*};
}

allocators! {
    omp_target_alloc, omp_target_free;
    llvm_omp_target_alloc_device, llvm_omp_target_free_device;
}

/// Memory that host and device reach: all memory on `host`, none on other devices. C's `free` frees
/// it.
fn alloc_shared(bytes: usize, number: c_int) -> *mut c_void {
    match device(number) {
        Some(device) if !device.calls_kernels => {
            message::error(&format!(
                "device {} is `{}`, which has no memory that the host reaches by its address: use \
                 omp_target_alloc and omp_target_memcpy",
                device.number, device.name
            ));
            std::ptr::null_mut()
        }
        // SAFETY: `malloc` may be called at any time, with any size.
        _ => unsafe { libc::malloc(bytes) },
    }
}

macro_rules! shared_allocators {
    ($($alloc:ident, $free:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $alloc(bytes: usize, number: c_int) -> *mut c_void {
            alloc_shared(bytes, number)
        }

        /// # Safety
        /// `memory` is null, or the function above returned it, and it was not freed since.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $free(memory: *mut c_void, _number: c_int) {
            // SAFETY: null, or memory that the function above got from `malloc`, by the caller's
            // promise.
            unsafe { libc::free(memory) }
        }
    )*};
}

shared_allocators! {
    llvm_omp_target_alloc_host, llvm_omp_target_free_host;
    llvm_omp_target_alloc_shared, llvm_omp_target_free_shared;
}

/// Dynamic shared memory is for device code.
#[unsafe(no_mangle)]
extern "C" fn llvm_omp_target_dynamic_shared_alloc() -> *mut c_void {
    std::ptr::null_mut()
}

/// Makes host memory accessible to a device: on `host` it is.
#[unsafe(no_mangle)]
extern "C" fn llvm_omp_target_lock_mem(
    memory: *mut c_void,
    bytes: usize,
    number: c_int,
) -> *mut c_void {
    let reaches = device(number).is_none_or(|device| device.calls_kernels);
    if bytes == 0 || !reaches {
        return std::ptr::null_mut();
    }
    memory
}

#[unsafe(no_mangle)]
extern "C" fn llvm_omp_target_unlock_mem(_memory: *mut c_void, _number: c_int) {}

#[unsafe(no_mangle)]
extern "C" fn omp_target_is_present(host: *const c_void, number: c_int) -> c_int {
    let _span = profile::span("omp_target_is_present", String::new);
    if host.is_null() {
        return 0;
    }
    device(number).map_or(1, |device| {
        c_int::from(device.table.find(&device, host.addr(), 1, false).is_some())
    })
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_mapped_ptr(host: *const c_void, number: c_int) -> *mut c_void {
    let _span = profile::span("omp_get_mapped_ptr", String::new);
    if host.is_null() {
        message::error("Call to omp_get_mapped_ptr with nullptr.");
        return std::ptr::null_mut();
    }
    if number > omp_get_initial_device() {
        return std::ptr::null_mut();
    }
    match device(number) {
        None => host.cast_mut(),
        Some(device) => {
            let found = device.table.find(&device, host.addr(), 1, false);
            found.map_or(std::ptr::null_mut(), |found| {
                found.device as usize as *mut c_void
            })
        }
    }
}

/// Whether code on the device may access the memory at this address.
#[unsafe(no_mangle)]
extern "C" fn omp_target_is_accessible(
    memory: *const c_void,
    _bytes: usize,
    number: c_int,
) -> c_int {
    if memory.is_null() {
        return 0;
    }
    let reaches = device(number)
        .is_none_or(|device| device.calls_kernels || device.has_allocated(memory.addr() as u64));
    c_int::from(reaches)
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_associate_ptr(
    host: *const c_void,
    memory: *const c_void,
    bytes: usize,
    offset: usize,
    number: c_int,
) -> c_int {
    let _span = profile::span("omp_target_associate_ptr", String::new);
    if host.is_null() || memory.is_null() || bytes == 0 {
        message::error("Call to omp_target_associate_ptr with invalid arguments");
        return FAILED;
    }
    let Some(device) = device(number) else {
        message::error("omp_target_associate_ptr: no association possible on the host");
        return FAILED;
    };
    let address = memory.addr().wrapping_add(offset) as u64;
    let associated = match AddrRange::new(host.addr(), bytes) {
        Some(range) => device.table.associate(range, address),
        None => Err(Refused::PastEnd),
    };
    result(associated)
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_disassociate_ptr(host: *const c_void, number: c_int) -> c_int {
    let _span = profile::span("omp_target_disassociate_ptr", String::new);
    if host.is_null() {
        message::error("Call to omp_target_disassociate_ptr with invalid host_ptr");
        return FAILED;
    }
    let Some(device) = device(number) else {
        message::error("omp_target_disassociate_ptr: no association possible on the host");
        return FAILED;
    };
    result(device.table.disassociate(host.addr()))
}

fn result(done: Result<(), Refused>) -> c_int {
    match done {
        Ok(()) => DONE,
        Err(why) => {
            message::error(&why.to_string());
            FAILED
        }
    }
}
