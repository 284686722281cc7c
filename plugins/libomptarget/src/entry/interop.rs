//! OpenMP's `interop` construct. No device has interop objects, which these functions report as
//! OpenMP specifies.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::Ident;
use crate::task::depend;

/// OpenMP's `omp_irc_empty`: there is no interop object.
const EMPTY: c_int = -1;
/// OpenMP's `omp_irc_no_value`.
const NO_VALUE: c_int = 1;

/// The construct's dependences: LLVM's `dep_pack_t`.
#[repr(C)]
struct Dependences {
    count: i32,
    more_count: i32,
    list: *mut c_void,
    more: *mut c_void,
}

/// # Safety
/// `dependences` is null, or valid, with arrays of its lengths.
unsafe fn wait(dependences: *const Dependences) {
    // SAFETY: null or valid, by the caller's promise.
    if let Some(on) = unsafe { dependences.as_ref() } {
        // SAFETY: the arrays have these lengths, by the caller's promise.
        unsafe { depend::wait_for_dependences(on.count, on.list, on.more_count, on.more) };
    }
}

/// `omp_interop_none`.
///
/// # Safety
/// `dependences` is null, or valid, with arrays of its lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_interop_get(
    _at: *const Ident,
    _kind: i32,
    _device: i64,
    _preference_count: i64,
    _preferences: *const c_void,
    _context: *const c_void,
    dependences: *const Dependences,
) -> *mut c_void {
    // SAFETY: the caller's promise is that of `wait`.
    unsafe { wait(dependences) };
    std::ptr::null_mut()
}

/// Waits for the dependences only.
///
/// # Safety
/// `dependences` is null, or valid, with arrays of its lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_interop_use60(
    _at: *const Ident,
    _interop: *mut c_void,
    _context: *const c_void,
    dependences: *const Dependences,
) -> c_int {
    // SAFETY: the caller's promise is that of `wait`.
    unsafe { wait(dependences) };
    0
}

/// Waits for the dependences only.
///
/// # Safety
/// `dependences` is null, or valid, with arrays of its lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_interop_release(
    at: *const Ident,
    interop: *mut c_void,
    context: *const c_void,
    dependences: *const Dependences,
) -> c_int {
    // SAFETY: the same promise.
    unsafe { __tgt_interop_use60(at, interop, context, dependences) }
}

/// Like [`__tgt_interop_get`], for clang 22.
///
/// # Safety
/// `interop` is writable. `dependences` is an array of `count` of libomp's dependences.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_interop_init(
    _at: *const Ident,
    _thread: i32,
    interop: *mut *mut c_void,
    _kind: i32,
    _device: i32,
    count: i32,
    dependences: *mut c_void,
    _nowait: i32,
) {
    // SAFETY: the array has this length, and the pointer is writable, by the caller's promise.
    unsafe {
        depend::wait_for_dependences(count, dependences, 0, std::ptr::null_mut());
        *interop = std::ptr::null_mut();
    }
}

/// Like [`__tgt_interop_use60`].
///
/// # Safety
/// `dependences` is an array of `count` of libomp's dependences.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_interop_use(
    _at: *const Ident,
    _thread: i32,
    _interop: *mut *mut c_void,
    _device: i32,
    count: i32,
    dependences: *mut c_void,
    _nowait: i32,
) {
    // SAFETY: the array has this length, by the caller's promise.
    unsafe { depend::wait_for_dependences(count, dependences, 0, std::ptr::null_mut()) };
}

/// Like [`__tgt_interop_release`].
///
/// # Safety
/// `dependences` is an array of `count` of libomp's dependences.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_interop_destroy(
    at: *const Ident,
    thread: i32,
    interop: *mut *mut c_void,
    device: i32,
    count: i32,
    dependences: *mut c_void,
    nowait: i32,
) {
    // SAFETY: the same promise.
    unsafe { __tgt_interop_use(at, thread, interop, device, count, dependences, nowait) };
}

/// Called by libomp at the end of tasks: there is no interop object to wait for.
#[unsafe(no_mangle)]
extern "C" fn __tgt_target_sync(
    _at: *const Ident,
    _thread: i32,
    _task: *mut c_void,
    _event: *mut c_void,
) {
}

/// Writes why there is no value, if the caller requests it.
///
/// # Safety
/// `why` is null or writable.
unsafe fn explain(why: *mut c_int) {
    if !why.is_null() {
        // SAFETY: not null, so writable by the caller's promise.
        unsafe { *why = EMPTY };
    }
}

/// No value.
///
/// # Safety
/// `why` is null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_interop_int(
    _interop: *const c_void,
    _property: c_int,
    why: *mut c_int,
) -> isize {
    // SAFETY: the caller's promise is that of `explain`.
    unsafe { explain(why) };
    0
}

/// No value.
///
/// # Safety
/// `why` is null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_interop_ptr(
    _interop: *const c_void,
    _property: c_int,
    why: *mut c_int,
) -> *mut c_void {
    // SAFETY: the caller's promise is that of `explain`.
    unsafe { explain(why) };
    std::ptr::null_mut()
}

/// No value.
///
/// # Safety
/// `why` is null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_interop_str(
    _interop: *const c_void,
    _property: c_int,
    why: *mut c_int,
) -> *const c_char {
    // SAFETY: the caller's promise is that of `explain`.
    unsafe { explain(why) };
    std::ptr::null()
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_interop_name(_interop: *const c_void, _property: c_int) -> *const c_char {
    std::ptr::null()
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_interop_type_desc(
    _interop: *const c_void,
    _property: c_int,
) -> *const c_char {
    std::ptr::null()
}

/// There is no interop object.
#[unsafe(no_mangle)]
extern "C" fn ompx_interop_add_completion_callback(
    _interop: *mut c_void,
    _callback: *const c_void,
    _data: *mut c_void,
) -> c_int {
    NO_VALUE
}
