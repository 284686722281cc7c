//! Injected failures: `REVOFF_EMU_FAIL`.

use emu_driver::faults::{Faults, Library};
use emu_driver::process::SettingError;

use crate::code::Code;
use crate::functions;

static FAULTS: Faults = Faults::of(
    "REVOFF_EMU_FAIL",
    Library {
        prefix: "cu",
        has: |name| functions::function(name).is_some(),
    },
);

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
