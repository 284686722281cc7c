//! NVIDIA's driver, or the emulated one: loading it, and its errors.

use std::sync::OnceLock;

use cudarc::driver::sys::CUresult;
use libloading::Library;

use super::functions::{Code, Functions};
use crate::device::loader::{loader_reason, without};
use crate::device::{DeviceError, DriverFailure};

/// The file that the system's loader searches for.
const LIBRARY: &str = "libcuda.so.1";

/// The oldest driver that has all functions that are called here, as encoded by
/// `cuDriverGetVersion`: CUDA 11.4's.
const OLDEST: i32 = 11_040;

/// A loaded driver, which stays loaded.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) functions: Functions,
    /// As encoded by `cuDriverGetVersion`: 12 040 for CUDA 12.4.
    pub(super) version: i32,
}

/// The machine's driver, ready for use.
///
/// # Errors
/// There is none, it is too old, or it cannot start.
pub(super) fn installed() -> Result<&'static Driver, DeviceError> {
    // The result does not change while a process runs.
    static DRIVER: OnceLock<Result<Driver, StartError>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| {
        // SAFETY: NVIDIA's initialisers have no preconditions.
        let library = unsafe { Library::new(LIBRARY) }.map_err(StartError::Missing)?;
        // It is never unloaded.
        let library = Box::leak(Box::new(library));
        // SAFETY: a symbol is an address, whatever is there.
        let find = |name: &str| unsafe { library.get::<*const _>(name) }.map(|found| *found);
        // SAFETY: the library has NVIDIA's functions under their names, and stays loaded.
        let functions = unsafe { Functions::find(find) };
        start(functions.map_err(|(function, reason)| StartError::Lacks { function, reason })?)
    });
    found.as_ref().map_err(|reason| DeviceError::NoDriver {
        device: "cuda",
        reason: reason.to_string(),
    })
}

/// The emulated driver, which is a part of this program. It has the GPUs that are added.
///
/// # Errors
/// It cannot start.
pub(super) fn emulated() -> Result<&'static Driver, DeviceError> {
    static DRIVER: OnceLock<Result<Driver, StartError>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| {
        let find = |name: &str| cuda_emu::functions::function(name).ok_or(());
        // SAFETY: they are its functions.
        let functions = unsafe { Functions::find(find) };
        let Ok(functions) = functions else {
            unreachable!("the emulated driver has all functions that are called here")
        };
        start(functions)
    });
    found.as_ref().map_err(|reason| DeviceError::NoDriver {
        device: "emu",
        reason: reason.to_string(),
    })
}

/// The reason why a driver cannot be used; the message names the package to install.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(
        "no NVIDIA driver: {LIBRARY} does not load (it comes with the driver, not with the CUDA \
         toolkit): {}",
        without(LIBRARY, &loader_reason(.0))
    )]
    Missing(libloading::Error),
    /// It lacks a function.
    #[error(
        "the NVIDIA driver lacks {function}, install a newer one: {}",
        loader_reason(reason)
    )]
    Lacks {
        function: &'static str,
        reason: libloading::Error,
    },
    #[error("{0}")]
    Call(DriverFailure),
    #[error(
        "the NVIDIA driver is for CUDA {}, this needs one for CUDA {} or newer",
        dotted(*.0),
        dotted(OLDEST)
    )]
    TooOld(i32),
}

fn start(functions: Functions) -> Result<Driver, StartError> {
    let mut driver = Driver {
        functions,
        version: 0,
    };
    // SAFETY: the function writes the number, and may be called before all others.
    let asked = unsafe { driver.functions.cuDriverGetVersion(&raw mut driver.version) };
    driver
        .check("cuDriverGetVersion", asked)
        .map_err(StartError::Call)?;
    if driver.version < OLDEST {
        return Err(StartError::TooOld(driver.version));
    }
    // SAFETY: takes a number that must be 0, and may be called any number of times.
    let started = unsafe { driver.functions.cuInit(0) };
    driver.check("cuInit", started).map_err(StartError::Call)?;
    Ok(driver)
}

/// A version as users write it.
pub(super) fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

impl Driver {
    /// The result of `call`.
    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<(), DriverFailure> {
        if code == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        let mut message = self.functions.describe(code);
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
