//! The calls to measure.

use core::ptr::null_mut;

use bench_calls::rpc::RPC;
use bench_calls::{EMPTY, LARGE, TOFROM, TYPED, WORK, nothing, touch, touch_large, work};
use revoff_device::shared_abi::gomp::{
    GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_ARGS_ONLY, REVOFF_FLAG_STATUS,
};
use revoff_device::shared_abi::image::FunctionInfo;
use revoff_device::shared_abi::status::Status;

use crate::{GOMP_target_ext, rpc};

/// A closure that makes the call, and returns `false` once a call has failed. Calls by RPC are made
/// only if the host has written the RPC client, and serves it.
pub(crate) fn caller(what: u32) -> impl FnMut() -> bool {
    let mut small = [0u8; 64];
    let mut large = [0u8; 4096];
    move || match what {
        _ if what & RPC != 0 => by_rpc(what & !RPC, &mut small, &mut large),
        EMPTY => bare(),
        TYPED => nothing().is_ok(),
        TOFROM => {
            let expected = small[0].wrapping_add(1);
            arrived(touch(&mut small).is_ok(), small[0], expected)
        }
        LARGE => {
            let expected = large[0].wrapping_add(1);
            arrived(touch_large(&mut large).is_ok(), large[0], expected)
        }
        WORK => work().is_ok(),
        _ => true,
    }
}

/// Makes the call by RPC.
fn by_rpc(what: u32, small: &mut [u8; 64], large: &mut [u8; 4096]) -> bool {
    let expected = [small[0].wrapping_add(1), large[0].wrapping_add(1)];
    // SAFETY: launching a kernel is unsafe, and its launcher asks for calls by RPC only if the host
    // has written the client and serves its memory (see `caller`).
    let done = unsafe { rpc::call(what, small, large) };
    match what {
        TOFROM => arrived(done, small[0], expected[0]),
        LARGE => arrived(done, large[0], expected[1]),
        _ => done,
    }
}

/// Ends the launch if the call was served and the host's bytes did not arrive.
fn arrived(done: bool, first: u8, expected: u8) -> bool {
    assert!(
        !done || first == expected,
        "the host's bytes did not arrive"
    );
    done
}

/// Represents the host function [`bench_calls::BARE`].
#[unsafe(no_mangle)]
static __revoff_fn_bare: FunctionInfo = FunctionInfo { signature: 0 };

/// Calls it; `false` if the call is known to have failed (GCC's wires carry no status).
fn bare() -> bool {
    let mut status = Status::NONE;
    // SAFETY: no arguments, and `args` points to the status word.
    unsafe {
        GOMP_target_ext(
            GOMP_DEVICE_HOST_FALLBACK,
            (&raw const __revoff_fn_bare).cast_mut().cast(),
            0,
            null_mut(),
            null_mut(),
            null_mut(),
            REVOFF_FLAG_STATUS | REVOFF_FLAG_ARGS_ONLY,
            null_mut(),
            (&raw mut status).cast(),
        );
    }
    matches!(status, Status::DONE | Status::NONE)
}
