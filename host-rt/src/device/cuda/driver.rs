//! NVIDIA's driver: loading it, and its errors.
//!
//! [`driver`] must load the driver before anything else calls it.

use std::sync::OnceLock;

use cudarc::driver::sys::CUresult;

use super::functions::{self, Code, LoadError};
use crate::device::{DeviceError, DriverFailure};

/// The oldest driver that has all functions that are called here, as encoded by
/// `cuDriverGetVersion`: CUDA 11.4's.
const OLDEST: i32 = 11_040;

/// The loaded driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    /// As encoded by `cuDriverGetVersion`: 12 040 for CUDA 12.4.
    pub(super) version: i32,
}

/// The driver, ready for use.
///
/// # Errors
/// There is none, it is too old, or it cannot start.
pub(super) fn driver() -> Result<Driver, DeviceError> {
    // The result does not change while a process runs.
    static DRIVER: OnceLock<Result<Driver, StartError>> = OnceLock::new();
    let found = DRIVER.get_or_init(find).as_ref();
    found.copied().map_err(|reason| DeviceError::NoDriver {
        device: "cuda",
        reason: reason.to_string(),
    })
}

/// The reason why the driver cannot be used.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("{0}")]
    Load(&'static LoadError),
    #[error("{0}")]
    Call(DriverFailure),
    #[error(
        "the NVIDIA driver is for CUDA {}, this needs one for CUDA {} or newer",
        dotted(*.0),
        dotted(OLDEST)
    )]
    TooOld(i32),
}

fn find() -> Result<Driver, StartError> {
    functions::load().map_err(StartError::Load)?;
    let mut version = 0;
    // SAFETY: the function writes the number, and may be called before all others.
    let asked = unsafe { functions::cuDriverGetVersion(&raw mut version) };
    check("cuDriverGetVersion", asked).map_err(StartError::Call)?;
    if version < OLDEST {
        return Err(StartError::TooOld(version));
    }
    // SAFETY: takes a number that must be 0, and may be called any number of times.
    let started = unsafe { functions::cuInit(0) };
    check("cuInit", started).map_err(StartError::Call)?;
    Ok(Driver { version })
}

/// A version as users write it.
pub(super) fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// The result of `call`.
pub(super) fn check(call: &'static str, code: Code) -> Result<(), DriverFailure> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut message = code.to_string();
    if code == CUresult::CUDA_ERROR_ASSERT {
        // A panic in a kernel has this code, too; see `arch::nvptx64` of device-rt.
        message += "; a kernel has panicked or an assertion has failed: the driver has written \
                    where to the standard error output";
    }
    Err(DriverFailure {
        call,
        code: code.number(),
        message,
    })
}

/// Whether the context is unusable after this result. NVIDIA's documentation of these codes tells
/// users to restart the process, and leaves open whether a new context would work.
pub(super) fn is_fatal(code: Code) -> bool {
    use CUresult::*;
    let fatal = [
        CUDA_ERROR_DEINITIALIZED,
        CUDA_ERROR_DEVICE_UNAVAILABLE,
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_CONTAINED,
        CUDA_ERROR_TENSOR_MEMORY_LEAK,
        CUDA_ERROR_MPS_CLIENT_TERMINATED,
        CUDA_ERROR_EXTERNAL_DEVICE,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
    ];
    fatal.iter().any(|fatal| code == *fatal)
}
