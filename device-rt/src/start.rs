//! Calls that do not block, for the typed functions of `host-fn`, and for C.
//!
//! A call in flight is a number other than 0: its slot and its sequence number. On wires other than
//! `native`, calls are made and finished at once.

use core::ffi::{c_uint, c_ushort, c_void};

use shared_abi::status::Status;
use shared_abi::wire::WireKind;

use crate::arch;
use crate::call::{Args, Call, StatusTo};
use crate::claims::Claim;
use crate::host_written::RUNTIME;
use crate::marshal::native::CopiesAll;
use crate::wire;
use crate::wire::started;

fn call(func: u64, args: Args) -> Call<CopiesAll> {
    let context = arch::context();
    Call {
        func,
        args,
        orders_memory: false,
        device_num: 0,
        home_group: context.global() / arch::warp_size(),
        launch: context.launch,
        spaces: CopiesAll,
    }
}

/// A call of which only the slot matters.
fn unspecified_call() -> Call<CopiesAll> {
    // SAFETY: no elements.
    let none = unsafe { Args::new(0, core::ptr::null(), core::ptr::null(), core::ptr::null()) };
    call(0, none)
}

const fn pack(claim: Claim) -> u64 {
    (claim.slot as u64) << 32 | claim.seq as u64
}

const fn unpack(number: u64) -> Claim {
    Claim {
        slot: (number >> 32) as u32,
        seq: number as u32,
    }
}

/// Calls a host function without waiting for it, with `mapnum` arguments as those of
/// `GOMP_target_ext`. Writes the number of the call in flight to `started`, or 0 if it is finished, with
/// the returned status: because it was made at once, or could not be made.
///
/// # Safety
/// As for [`target_ext`](crate::target_ext::target_ext). `started` is writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn revoff_start(
    func: *mut c_void,
    mapnum: c_uint,
    hostaddrs: *mut *mut c_void,
    sizes: *mut usize,
    kinds: *mut c_ushort,
    started: *mut u64,
) -> u32 {
    // SAFETY: the caller's promise.
    let args = unsafe { Args::new(mapnum, hostaddrs.cast(), sizes.cast(), kinds.cast()) };
    let mut status = Status::NONE;
    let mut number = 0;
    let kind = WireKind(RUNTIME.wire_kind());
    if kind == WireKind::NATIVE {
        match started::start(&RUNTIME, call(func as u64, args)) {
            Ok(claim) => number = pack(claim),
            Err(refused) => status = refused,
        }
    } else {
        // SAFETY: the caller's promise; the status goes to a variable of ours.
        unsafe {
            wire::call(
                kind,
                func as u64,
                args,
                0,
                false,
                StatusTo::new(&mut status.0),
            );
        }
    }
    // SAFETY: the caller's promise.
    unsafe { started.write(number) };
    status.0
}

/// Whether a call that is in flight is finished, so that `revoff_finish` does not wait.
///
/// # Safety
/// The call is in flight, and the calling thread has started it.
#[unsafe(no_mangle)]
unsafe extern "C" fn revoff_is_ready(number: u64) -> bool {
    started::is_ready(&RUNTIME, unpack(number), unspecified_call())
}

/// Waits for a call that is in flight, and copies its results to its arguments. Returns its status.
///
/// # Safety
/// As for `revoff_is_ready`. The arguments have the sizes and kinds with which the call was started, and
/// are writable where their kinds say so; addresses are null exactly where they were.
#[unsafe(no_mangle)]
unsafe extern "C" fn revoff_finish(
    number: u64,
    mapnum: c_uint,
    hostaddrs: *mut *mut c_void,
    sizes: *mut usize,
    kinds: *mut c_ushort,
) -> u32 {
    // SAFETY: the caller's promise.
    let args = unsafe { Args::new(mapnum, hostaddrs.cast(), sizes.cast(), kinds.cast()) };
    started::finish(&RUNTIME, unpack(number), call(0, args)).0
}

/// Waits for a call that is in flight, with `mapnum` arguments of which only the last is written: the
/// reply of a typed function without a result, which is ignored. Returns the call's status.
///
/// # Safety
/// As for `revoff_is_ready`, and what is said about the arguments.
#[unsafe(no_mangle)]
unsafe extern "C" fn revoff_finish_posted(number: u64, mapnum: c_uint) -> u32 {
    started::finish_posted(&RUNTIME, unpack(number), unspecified_call(), mapnum).0
}
