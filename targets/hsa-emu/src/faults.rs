//! Injected failures: `REVOFF_EMU_FAIL`.

use emu_driver::faults::Faults;
use emu_driver::process::SettingError;

use crate::functions::function;
use crate::status::Status;

static FAULTS: Faults = Faults::of("REVOFF_EMU_FAIL");

/// Counts a call of `function`; returns the injected error, if there is one.
pub(crate) fn of_call(function: &str) -> Option<Status> {
    FAULTS.of_call(function).map(Status)
}

/// Error in the environment's list of failures, if any.
pub(crate) fn invalid() -> Option<SettingError> {
    // Those of the other driver are its business; those of the loader's table are not found by their names.
    let exists = |name: &str| {
        function(name).is_some()
            || name.starts_with("hsa_ven_amd_loader_")
            || name.starts_with("cu")
    };
    FAULTS.check(exists).err()
}

/// The number of injected failures so far.
pub(crate) fn injected() -> u64 {
    FAULTS.injected()
}
