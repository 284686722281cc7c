//! Calls that are to fail: `REVOFF_STAND_IN_FAIL`.

use standin::faults::Faults;

use crate::code::Code;

static FAULTS: Faults = Faults::of("REVOFF_STAND_IN_FAIL");

/// Counts a call of `function`; says what it is to answer if that is an error.
pub(crate) fn of_call(function: &str) -> Option<Code> {
    FAULTS.of_call(function).map(Code)
}

/// No function of NVIDIA's: calls that have failed because they were to.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_faults() -> u64 {
    FAULTS.injected()
}
