//! Opening a device after it was lost.

use std::time::{Duration, Instant};

use crate::device::DeviceError;

/// How long opening waits for a lost device to be released. When all its resources are dropped, the
/// thread that waits for kernels may be the last owner.
const PATIENCE: Duration = Duration::from_millis(200);

/// Calls `open` again for a while if the device is lost.
pub(in crate::device) fn retry_if_lost<T>(
    open: impl Fn() -> Result<T, DeviceError>,
) -> Result<T, DeviceError> {
    let start = Instant::now();
    loop {
        match open() {
            Err(DeviceError::Lost { .. }) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}
