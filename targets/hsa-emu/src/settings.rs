//! Settings of the process, from its environment.

use std::sync::LazyLock;

use emu_driver::process::{SettingError, value};

/// Maximum packets of a queue.
const MAX_PACKETS: u32 = 131_072;

static PACKETS: LazyLock<Result<u32, SettingError>> = LazyLock::new(|| {
    let expected = format!("a power of two up to {MAX_PACKETS}");
    let is_size = |packets: &u32| packets.is_power_of_two() && *packets <= MAX_PACKETS;
    let read = |text: &str| text.parse().ok().filter(is_size);
    value("REVOFF_EMU_PACKETS", MAX_PACKETS, &expected, read)
});

/// Maximum packets of a queue in this process, which tests reduce.
pub(crate) fn max_packets() -> u32 {
    PACKETS.as_ref().copied().unwrap_or(MAX_PACKETS)
}

/// Error in the environment's settings, if any.
pub(crate) fn invalid() -> Option<SettingError> {
    PACKETS.as_ref().err().cloned()
}
