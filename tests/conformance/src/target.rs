//! The devices and wires that the suite runs on.

use revoff_host::shared_abi::wire::WireKind;
use revoff_host::{Builder, Runtime};

/// The devices that the suite runs on if they exist: one line each. Emulated NVIDIA GPUs are one with
/// independent lanes and one in lock-step, AMD GPUs one with waves of 64 lanes and one with 32.
pub const DEVICES: [&str; 7] = [
    "host",
    "emu:sm_90",
    "emu:sm_60",
    "emu:gfx90a",
    "emu:gfx1100",
    "cuda:0",
    "hsa:0",
];

/// Emulated GPUs on which a selection of the suite runs: their instructions differ from those of
/// `emu:gfx90a` and `emu:gfx1100`, little else does.
pub const DEVICES_OF_SELECTION: [&str; 4] =
    ["emu:gfx906", "emu:gfx908", "emu:gfx942", "emu:gfx1201"];

/// A device, and the wire that its kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The device's name.
    pub device: &'static str,
    /// The wire.
    pub wire: WireKind,
}

impl Target {
    /// The targets of a device. On GPUs: `native`, and the wires of GCC's images for such GPUs. Our
    /// images support all wires, and `host` covers them.
    pub fn all_of(device: &'static str) -> impl Iterator<Item = Target> {
        let is_amd = is_amd(device);
        WireKind::ALL
            .into_iter()
            .map(move |wire| Target { device, wire })
            .filter(move |target| match target.wire {
                WireKind::GCN_QUEUE => target.is_host() || is_amd,
                WireKind::GCC_RING | WireKind::GCC_SLOT => !is_amd,
                _ => true,
            })
    }

    /// Its name in the names of tests, such as `host_gcc_ring`.
    #[must_use]
    pub fn name(&self) -> String {
        let wire = self.wire.name().unwrap_or("unknown").replace('-', "_");
        format!("{}_{wire}", device_name(self.device))
    }

    /// A builder of a runtime on the target.
    pub fn builder(&self) -> Builder {
        Runtime::builder(self.device).wire(self.wire)
    }

    /// Whether it is the `host` device.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.device == "host"
    }

    /// Whether it is an emulated GPU.
    #[must_use]
    pub fn is_emu(&self) -> bool {
        self.device.starts_with("emu")
    }

    /// Whether it is hardware.
    #[must_use]
    pub fn is_hardware(&self) -> bool {
        !self.is_host() && !self.is_emu()
    }

    /// Whether it counts what kernels do on the bus.
    #[must_use]
    pub fn counts_costs(&self) -> bool {
        self.is_emu()
    }

    /// Whether it can do what a weak memory model allows and hardware does at times.
    #[must_use]
    pub fn has_weak_memory(&self) -> bool {
        self.is_emu() && self.is_amd()
    }

    /// Whether its GPU is one of AMD's.
    #[must_use]
    pub fn is_amd(&self) -> bool {
        is_amd(self.device)
    }

    /// Whether no other process uses the device's memory.
    #[must_use]
    pub fn shares_no_memory(&self) -> bool {
        !self.is_hardware()
    }

    /// Whether a request identifies its launch.
    #[must_use]
    pub fn tells_launches_apart(&self) -> bool {
        self.is_host()
    }

    /// Whether other work survives a kernel's fault.
    #[must_use]
    pub fn survives_faults(&self) -> bool {
        self.is_host()
    }

    /// The device's message about a kernel that panicked with `words`, at a line of `file`: images
    /// for GPUs only report the location.
    #[must_use]
    pub fn words_of_panic(&self, words: &str, file: &str) -> String {
        if self.is_emu() {
            format!("{file}:")
        } else {
            words.to_owned()
        }
    }

    /// Whether a kernel's fault loses the whole device.
    #[must_use]
    pub fn is_lost_by_faults(&self) -> bool {
        !self.survives_faults()
    }

    /// Whether the lanes of a warp or wave run in lock-step, as AMD's do: a waiting lane stops the others.
    #[must_use]
    pub fn runs_in_lock_step(&self) -> bool {
        self.device == "emu:sm_60" || self.is_amd()
    }

    /// Whether a device thread may have a stack of half a MiB. AMD's have 8 MiB for all lanes of a wave.
    #[must_use]
    pub fn has_deep_stacks(&self) -> bool {
        !self.is_amd()
    }

    /// A grid of threads that do not wait for each other's calls: `grid`, but in lock-step each
    /// thread in its own team.
    #[must_use]
    pub fn apart(&self, (teams, threads): (u32, u32)) -> (u32, u32) {
        if self.runs_in_lock_step() {
            (teams * threads, 1)
        } else {
            (teams, threads)
        }
    }

    /// Whether a caller gets the status of its call, which GCC's wires do not carry.
    #[must_use]
    pub fn reports_status(&self) -> bool {
        self.wire == WireKind::NATIVE
    }

    /// Whether kernels can print much text: on `gcc-slot` one thread prints at a time.
    #[must_use]
    pub fn prints(&self) -> bool {
        self.is_parallel()
    }

    /// Whether the wire has messages for text.
    #[must_use]
    pub fn has_text_messages(&self) -> bool {
        self.wire == WireKind::GCN_QUEUE
    }

    /// Whether several calls can run at once.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        self.wire != WireKind::GCC_SLOT
    }
}

/// Whether a device is an AMD GPU, real or emulated.
fn is_amd(device: &str) -> bool {
    device.starts_with("hsa") || device.starts_with("emu:gfx")
}

/// A device's name in the names of tests, such as `cuda_0`.
#[must_use]
pub fn device_name(device: &str) -> String {
    device.replace(':', "_")
}
