//! Injected failures: `REVOFF_STAND_IN_FAIL`.

use emu_driver::faults::Faults;

use crate::code::Code;

static FAULTS: Faults = Faults::of("REVOFF_STAND_IN_FAIL");

/// Counts a call of `function`; returns the injected error, if there is one.
pub(crate) fn of_call(function: &str) -> Option<Code> {
    FAULTS.of_call(function).map(Code)
}

/// Not a function of NVIDIA's: the number of injected failures.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_faults() -> u64 {
    FAULTS.injected()
}
