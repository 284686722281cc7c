//! What the suite runs on.

use host_rt::shared_abi::wire::WireKind;
use host_rt::{Builder, Runtime};

/// The devices that the suite runs on where a machine has them: one line each.
pub const DEVICES: [&str; 1] = ["host"];

/// A device, and the wire that its kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The device's name.
    pub device: &'static str,
    /// The wire.
    pub wire: WireKind,
}

impl Target {
    /// The targets of a device.
    pub fn all_of(device: &'static str) -> impl Iterator<Item = Target> {
        WireKind::ALL
            .into_iter()
            .map(move |wire| Target { device, wire })
    }

    /// Its name in the names of tests, such as `host_gcc_ring`.
    #[must_use]
    pub fn name(&self) -> String {
        let wire = self.wire.name().unwrap_or("unknown").replace('-', "_");
        format!("{}_{wire}", device_name(self.device))
    }

    /// Begins a runtime on the target.
    pub fn builder(&self) -> Builder {
        Runtime::builder(self.device).wire(self.wire)
    }

    /// Whether a caller learns how its call ended. On GCC's wires it does not.
    #[must_use]
    pub fn reports_status(&self) -> bool {
        self.wire == WireKind::NATIVE
    }

    /// Whether several calls can be under way at once.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        self.wire != WireKind::GCC_SLOT
    }
}

/// A device's name in the names of tests, such as `cuda_0`.
#[must_use]
pub fn device_name(device: &str) -> String {
    device.replace(':', "_")
}
