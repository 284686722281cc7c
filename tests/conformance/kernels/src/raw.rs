//! Calls of `GOMP_target_ext` with arguments chosen by the test.

use core::ffi::c_void;
use core::ptr;

use crate::GOMP_target_ext;
use conformance_calls::{DEEP_STACK_BYTES, MAX_STACK_ARGS, NULL, RawCall, STACK_BYTES, VALUE};
use revoff_device::host_written::RUNTIME;
use revoff_device::shared_abi::image::FunctionInfo;

/// A host function that takes any arguments.
#[unsafe(export_name = "__revoff_fn_probe")]
pub static PROBE: FunctionInfo = FunctionInfo { signature: 0 };

/// A host function that is never registered.
#[unsafe(export_name = "__revoff_fn_unregistered")]
pub static UNREGISTERED: FunctionInfo = FunctionInfo { signature: 0 };

/// Writes the function words of `probe`, `unregistered` and `act` to `words`, the addresses of
/// the control variables and the claims, and the lanes of the wire's slots.
///
/// # Safety
/// `words` has six.
#[revoff_device::kernel]
pub unsafe fn function_words(words: *mut u64) {
    let all = [&PROBE, &UNREGISTERED, &conformance_calls::__revoff_fn_act];
    for (i, info) in all.into_iter().enumerate() {
        // SAFETY: `i` is below three.
        unsafe { words.add(i).write(ptr::from_ref(info) as u64) };
    }
    let runtime = [
        ptr::from_ref(&crate::__gomp_additional_icvs) as u64,
        RUNTIME.claims(),
        RUNTIME.lanes().into(),
    ];
    // SAFETY: three words are left.
    unsafe { words.add(3).cast::<[u64; 3]>().write(runtime) };
}

/// Makes the described call.
///
/// # Safety
/// As for `GOMP_target_ext`.
#[revoff_device::kernel]
pub unsafe fn call_raw(call: *const RawCall) {
    // SAFETY: the launcher's promise.
    unsafe {
        let call = &*call;
        GOMP_target_ext(
            call.device,
            ptr::without_provenance_mut(call.func as usize),
            call.count as usize,
            call.addrs as *mut *mut c_void,
            call.sizes as *mut usize,
            call.kinds as *mut u16,
            call.flags,
            ptr::null_mut(),
            call.status as *mut *mut c_void,
        );
    }
}

/// Makes the call with everything on its stack: the data is copied there before
/// the call, and back after it. Argument `i` lies at the `i`-th offset of it,
/// unless that is [`NULL`] or a [`VALUE`].
///
/// # Safety
/// There are at most [`STACK_BYTES`] of data, in which all ranges lie, and at
/// most [`MAX_STACK_ARGS`] arguments.
#[revoff_device::kernel]
pub unsafe fn call_stack(call: *const RawCall) {
    // SAFETY: the caller promises that the data and the arguments fit.
    unsafe { on_stack::<STACK_BYTES>(&*call) };
}

/// Like `call_stack`, for up to [`DEEP_STACK_BYTES`].
///
/// # Safety
/// As for `call_stack`.
#[revoff_device::kernel]
pub unsafe fn call_deep_stack(call: *const RawCall) {
    // SAFETY: the caller promises that the data and the arguments fit.
    unsafe { on_stack::<DEEP_STACK_BYTES>(&*call) };
}

#[repr(C, align(64))]
struct Aligned<const N: usize>([u8; N]);

/// # Safety
/// As for `call_stack`.
unsafe fn on_stack<const N: usize>(call: &RawCall) {
    let (count, len, data) = (call.count as usize, call.len as usize, call.data as *mut u8);
    let (offsets, sizes) = (call.addrs as *const u64, call.sizes as *const u64);
    let kinds = call.kinds as *const u16;
    assert!(count <= MAX_STACK_ARGS && len <= N);
    let mut local = Aligned([0; N]);
    let mut addrs: [*mut c_void; MAX_STACK_ARGS] = [ptr::null_mut(); MAX_STACK_ARGS];
    let mut own_sizes = [0usize; MAX_STACK_ARGS];
    let mut own_kinds = [0u16; MAX_STACK_ARGS];
    let mut status = u32::MAX;
    let base = local.0.as_mut_ptr();
    // SAFETY: the launcher vouches for its arrays; ours are at least as long.
    unsafe {
        ptr::copy_nonoverlapping(data, base, len);
        for i in 0..count {
            let offset = *offsets.add(i);
            addrs[i] = match offset {
                NULL => ptr::null_mut(),
                _ if offset & VALUE != 0 => ptr::without_provenance_mut((offset & !VALUE) as usize),
                _ => base.add(offset as usize).cast(),
            };
            own_sizes[i] = *sizes.add(i) as usize;
            own_kinds[i] = *kinds.add(i);
        }
        GOMP_target_ext(
            call.device,
            ptr::without_provenance_mut(call.func as usize),
            count,
            addrs.as_mut_ptr(),
            own_sizes.as_mut_ptr(),
            own_kinds.as_mut_ptr(),
            call.flags,
            ptr::null_mut(),
            (&raw mut status).cast(),
        );
        ptr::copy_nonoverlapping(base, data, len);
        (call.status as *mut u32).write(status);
    }
}
