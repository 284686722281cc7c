//! Settings of the process, from its environment.

use std::sync::LazyLock;
use std::time::Duration;

use emu_driver::process::{SettingError, number};

/// The properties of the driver that tests change.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// # Errors
    /// A variable is not a number.
    fn read() -> Result<Self, SettingError> {
        let default = Self::DEFAULT;
        let is_set =
            |name, default: bool| Ok::<_, SettingError>(number(name, default.into())? != 0);
        Ok(Self {
            version: number("REVOFF_EMU_CUDA_VERSION", default.version as u64)? as i32,
            unified: is_set("REVOFF_EMU_UNIFIED", default.unified)?,
            pools: is_set("REVOFF_EMU_POOLS", default.pools)?,
            frees_wait: is_set("REVOFF_EMU_FREES_WAIT", default.frees_wait)?,
            copy_delay: Duration::from_micros(number("REVOFF_EMU_COPY_DELAY", 0)?),
        })
    }

    /// Those of an empty environment.
    const DEFAULT: Self = Self {
        version: 12_090,
        unified: true,
        pools: true,
        frees_wait: false,
        copy_delay: Duration::ZERO,
    };
}

static SETTINGS: LazyLock<Result<Settings, SettingError>> = LazyLock::new(Settings::read);

/// Those of this process.
pub(crate) fn settings() -> &'static Settings {
    SETTINGS.as_ref().unwrap_or(&Settings::DEFAULT)
}

/// Why they are not those of the environment.
pub(crate) fn invalid() -> Option<&'static SettingError> {
    SETTINGS.as_ref().err()
}
