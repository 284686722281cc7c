//! ROCr, or the emulated one: loading it, and its errors.

use std::ffi::{CStr, c_char, c_void};
use std::io::ErrorKind;
use std::ops::Deref;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use hsa_runtime_sys::{
    HSA_AMD_SYSTEM_INFO_BUILD_VERSION, HSA_STATUS_INFO_BREAK, HSA_STATUS_SUCCESS, LoadError, Rocr,
    hsa_amd_event_t, hsa_status_t,
};

use crate::device::{DeviceError, DriverFailure};

/// The device file of the Linux driver for AMD GPUs.
const DRIVER: &str = "/dev/kfd";

/// A variable of ROCr. If it is 0, ROCr's `Runtime::BindErrorHandlers` does nothing.
const INTERRUPTS: &str = "HSA_ENABLE_INTERRUPT";

/// The loaded ROCr. Never shut down: allocations are freed one by one, and others in this process
/// may use it, too.
pub(super) struct Runtime {
    rocr: Rocr,
}

impl Deref for Runtime {
    type Target = Rocr;

    fn deref(&self) -> &Rocr {
        &self.rocr
    }
}

impl Runtime {
    /// ROCr's name for its build, such as `1.5.0`; `None` if it reports none.
    pub(super) fn build(&self) -> Option<String> {
        let what = HSA_AMD_SYSTEM_INFO_BUILD_VERSION;
        let mut text: *const c_char = null();
        // SAFETY: the function writes a pointer.
        let status = unsafe { self.rocr.hsa_system_get_info(what, (&raw mut text).cast()) };
        if status != HSA_STATUS_SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: a C string of ROCr's, which stays loaded.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        (!text.is_empty()).then(|| text.into_owned())
    }
}

/// A callback for events of the whole system.
pub(super) type OnEvent = unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

/// The machine's ROCr; `on_event` is called for events of the system.
///
/// # Errors
/// There is none, it is too old, or it cannot start.
pub(super) fn installed(on_event: OnEvent) -> Result<&'static Runtime, DeviceError> {
    // The result does not change while a process runs.
    static RUNTIME: OnceLock<Result<Runtime, StartError>> = OnceLock::new();
    let found = RUNTIME.get_or_init(|| {
        let runtime = start(Rocr::load().map_err(StartError::Load)?, on_event)?;
        if std::env::var_os(INTERRUPTS).is_some_and(|value| value == "0") {
            tracing::warn!(
                "{INTERRUPTS}=0: ROCr then reports no memory faults, and a kernel that accesses \
                 unmapped memory never ends; unset it"
            );
        }
        Ok(runtime)
    });
    found.as_ref().map_err(|reason| DeviceError::NoDriver {
        device: "hsa",
        reason: reason.to_string(),
    })
}

/// The emulated ROCr, which is a part of this program. It has the GPUs that are added.
///
/// # Errors
/// It cannot start.
pub(super) fn emulated(on_event: OnEvent) -> Result<&'static Runtime, DeviceError> {
    static RUNTIME: OnceLock<Result<Runtime, StartError>> = OnceLock::new();
    let found = RUNTIME.get_or_init(|| {
        // SAFETY: they are functions of ROCr, as its headers declare them.
        let rocr = unsafe { Rocr::linked_in(hsa_emu::functions::function) };
        start(rocr.map_err(StartError::Load)?, on_event)
    });
    found.as_ref().map_err(|reason| DeviceError::NoDriver {
        device: "emu",
        reason: reason.to_string(),
    })
}

/// The reason why ROCr cannot be used.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("{0}")]
    Load(LoadError),
    #[error("no AMD GPU: {0} ({DRIVER} opens)")]
    Start(DriverFailure),
    /// ROCr does not start, and the driver cannot be opened.
    #[error("no AMD GPU: {failure} ({DRIVER}: {reason}{})", way_out(reason.kind()))]
    Driver {
        failure: DriverFailure,
        reason: std::io::Error,
    },
    #[error("{0}")]
    Call(DriverFailure),
}

fn start(rocr: Rocr, on_event: OnEvent) -> Result<Runtime, StartError> {
    // SAFETY: may be called any number of times, at any time.
    let started = unsafe { rocr.hsa_init() };
    if let Err(failure) = check(&rocr, "hsa_init", started) {
        return Err(match std::fs::File::open(DRIVER) {
            Ok(_) => StartError::Start(failure),
            Err(reason) => StartError::Driver { failure, reason },
        });
    }
    // SAFETY: the handler is a function of this library, which stays loaded, and takes no data.
    let asked = unsafe { rocr.hsa_amd_register_system_event_handler(Some(on_event), null_mut()) };
    check(&rocr, "hsa_amd_register_system_event_handler", asked).map_err(StartError::Call)?;
    Ok(Runtime { rocr })
}

/// The remedy if the driver cannot be opened.
fn way_out(error: ErrorKind) -> &'static str {
    match error {
        ErrorKind::NotFound => {
            "; load the kernel driver amdgpu, or in a container give it this device and /dev/dri"
        }
        ErrorKind::PermissionDenied => "; add the user to the group that owns it, mostly `render`",
        _ => "",
    }
}

/// The result of `call`.
pub(super) fn check(
    rocr: &Rocr,
    call: &'static str,
    status: hsa_status_t,
) -> Result<(), DriverFailure> {
    match status {
        // Leaving a list early is what the callback requested.
        HSA_STATUS_SUCCESS | HSA_STATUS_INFO_BREAK => Ok(()),
        status => Err(DriverFailure {
            call,
            code: status,
            message: words(rocr, status),
        }),
    }
}

/// ROCr's description of a status.
pub(super) fn words(rocr: &Rocr, status: hsa_status_t) -> String {
    let mut text = null();
    // SAFETY: the function writes a pointer, and may be called at any time.
    let known = unsafe { rocr.hsa_status_string(status, &raw mut text) };
    if known != HSA_STATUS_SUCCESS || text.is_null() {
        return format!("status {status:#x}");
    }
    // SAFETY: a C string of ROCr's, which stays loaded.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    format!("{} (status {status:#x})", text.trim())
}
