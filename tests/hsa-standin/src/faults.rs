//! Injected failures: `REVOFF_HSA_STAND_IN_FAIL`.

use emu_driver::faults::Faults;
use emu_driver::process::SettingError;
use hsa_runtime_sys::hsa_status_t;

static FAULTS: Faults = Faults::of("REVOFF_HSA_STAND_IN_FAIL");

/// # Errors
/// The variable is invalid.
pub(crate) fn check() -> Result<(), SettingError> {
    FAULTS.check()
}

/// Counts a call of `function`; returns the injected error, if there is one.
pub(crate) fn of_call(function: &str) -> Option<hsa_status_t> {
    FAULTS.of_call(function)
}

/// Not a function of ROCr's: the number of injected failures.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_faults() -> u64 {
    FAULTS.injected()
}
