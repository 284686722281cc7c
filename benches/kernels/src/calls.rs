//! The calls to measure.

use core::ptr::null_mut;

use bench_calls::{EMPTY, LARGE, TOFROM, TYPED, WORK, nothing, touch, touch_large, work};
use device_rt::shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use device_rt::shared_abi::image::FunctionInfo;
use device_rt::shared_abi::status::Status;

use crate::GOMP_target_ext;

/// A closure that makes the call, and returns `false` once a call has failed.
pub(crate) fn caller(what: u32) -> impl FnMut() -> bool {
    let mut small = [0u8; 64];
    let mut large = [0u8; 4096];
    move || match what {
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
            REVOFF_FLAG_STATUS,
            null_mut(),
            (&raw mut status).cast(),
        );
    }
    matches!(status, Status::DONE | Status::NONE)
}
