//! Settings of the process, from its environment.

use std::time::Duration;

use emu_driver::process::setting;

/// The properties of the driver that tests and users change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// As `cuDriverGetVersion` encodes it.
    pub(crate) version: i32,
    /// Whether device and host share one address space, and whether there are memory pools.
    pub(crate) unified: bool,
    pub(crate) pools: bool,
    /// Whether freeing pinned memory or a module waits for all kernels. NVIDIA does not document it, so
    /// callers must handle both.
    pub(crate) frees_wait: bool,
    /// The time before each copy.
    pub(crate) copy_delay: Duration,
}

impl Settings {
    /// # Panics
    /// A variable is not a number.
    pub(crate) fn read() -> Self {
        let is_set = |name, default: bool| setting(name, default.into()) != 0;
        Self {
            version: setting("REVOFF_EMU_CUDA_VERSION", 12_090) as i32,
            unified: is_set("REVOFF_EMU_UNIFIED", true),
            pools: is_set("REVOFF_EMU_POOLS", true),
            frees_wait: is_set("REVOFF_EMU_FREES_WAIT", false),
            copy_delay: Duration::from_micros(setting("REVOFF_EMU_COPY_DELAY", 0)),
        }
    }
}
