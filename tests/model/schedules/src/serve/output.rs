//! Stand-ins for the device, its wires and the text that kernels print.

use super::Server;
use super::poller::PollToken;

pub(super) struct Device {
    pub(super) can_wake: bool,
}

impl Device {
    pub(super) fn can_wake_host(&self) -> bool {
        self.can_wake
    }
}

#[derive(Default)]
pub(super) struct Wires {
    pub(super) launch_wires: LaunchWires,
}

#[derive(Default)]
pub(super) struct LaunchWires;

impl LaunchWires {
    pub(super) fn are_used(&self) -> bool {
        false
    }
}

#[derive(Default)]
pub(super) struct Output {
    pub(super) text: Text,
}

#[derive(Default)]
pub(super) struct Text;

impl Text {
    pub(super) fn is_full(&self) -> bool {
        false
    }

    pub(super) fn push(&self, _: &[u8]) -> (u64, Option<Writer>) {
        (0, None)
    }

    pub(super) fn wait_before_call(&self, _: u64) {}
}

pub(super) struct Writer;

impl Writer {
    pub(super) fn start(self) {}
}

impl Server {
    pub(super) fn serve_flush_requests(&self, _: &mut PollToken) {}
}
