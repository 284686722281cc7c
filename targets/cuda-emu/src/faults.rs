//! Injected failures: `REVOFF_EMU_FAIL`.

use emu_driver::faults::Faults;
use emu_driver::process::SettingError;

use crate::code::Code;

static FAULTS: Faults = Faults::of("REVOFF_EMU_FAIL");

/// Counts a call of `function`; returns the injected error, if there is one.
pub(crate) fn of_call(function: &str) -> Option<Code> {
    FAULTS.of_call(function).map(Code)
}

/// Why the failures of the environment are not injected.
pub(crate) fn invalid() -> Option<SettingError> {
    FAULTS.check().err()
}

/// The number of injected failures so far.
pub(crate) fn injected() -> u64 {
    FAULTS.injected()
}

/// Whether calls fail.
pub(crate) fn are_set() -> bool {
    FAULTS.is_set()
}

/// Messages about calls that were to fail and have not been made.
pub(crate) fn missed() -> Vec<String> {
    FAULTS.missed(|name| !name.starts_with("hsa_"))
}
