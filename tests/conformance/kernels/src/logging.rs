//! Kernels that log.

use revoff_device::thread;

use crate::print::Long;

/// Logs at each level, for two targets, and a long message.
#[revoff_device::kernel]
pub fn log_records(words: u32) {
    let me = thread::global();
    revoff_device::log::init();
    log::error!("error {me}");
    log::warn!("warning {me}");
    log::info!("information {me}");
    log::debug!("long {me} {}", Long { me, words });
    log::trace!("nobody reads this");
    log::info!(target: "quiet", "nor this");
    log::warn!(target: "quiet", "but this {me}");
}

/// Logs `count` records that are more verbose than the host's log, after asking for its level again.
#[revoff_device::kernel]
pub fn log_too_much(count: u32) {
    revoff_device::log::init();
    revoff_device::log::update_level();
    for n in 0..count {
        log::trace!("{n}");
    }
}
