//! The functions of the host that the kernels call.

use std::time::{Duration, Instant};

use bench_calls::{BARE, Nothing, Touch, TouchLarge, WORK_NS, Work};
use revoff_host::Functions;

/// All of them, for the wires.
pub(super) fn functions() -> anyhow::Result<Functions> {
    let mut functions = Functions::new();
    functions.add(Nothing::bind(|| ()))?;
    functions.add(Touch::bind(|data| touched(data)))?;
    functions.add(TouchLarge::bind(|data| touched(data)))?;
    functions.add(Work::bind(work))?;
    // SAFETY: it touches nothing.
    unsafe { functions.add_raw(BARE, bare)? };
    Ok(functions)
}

/// The functions that take data.
pub(super) fn touched(data: &mut [u8]) {
    data[0] = data[0].wrapping_add(1);
}

/// The function that takes time.
pub(super) fn work() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_nanos(WORK_NS) {
        std::hint::spin_loop();
    }
}

/// The function that does nothing.
unsafe extern "C" fn bare(_args: *mut *mut std::ffi::c_void) {}
