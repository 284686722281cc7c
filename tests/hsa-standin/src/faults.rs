//! Calls that are to fail: `REVOFF_HSA_STAND_IN_FAIL`.

use hsa_runtime_sys::hsa_status_t;
use standin::faults::Faults;

static FAULTS: Faults = Faults::of("REVOFF_HSA_STAND_IN_FAIL");

/// Counts a call of `function`; says what it is to answer if that is an error.
pub(crate) fn of_call(function: &str) -> Option<hsa_status_t> {
    FAULTS.of_call(function)
}

/// No function of ROCr's: calls that have failed because they were to.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_faults() -> u64 {
    FAULTS.injected()
}
