//! What the suite runs on.

use host_rt::shared_abi::wire::WireKind;
use host_rt::{Builder, Runtime};

use crate::stand_in;

/// The devices that the suite runs on where a machine has them: one line each. Emulated
/// GPUs are one with independent lanes and one in lock-step.
pub const DEVICES: [&str; 5] = ["host", "emu:sm_90", "emu:sm_60", "cuda:0", "hsa:0"];

/// A device, and the wire that its kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The device's name.
    pub device: &'static str,
    /// The wire.
    pub wire: WireKind,
}

impl Target {
    /// The targets of a device: on GPUs `native`, and what GCC's images for such GPUs speak; of
    /// those one where something stands in for the driver, which sees nothing of what is
    /// different. Ours can be asked for all there are; `host` has what is to be said about that.
    pub fn all_of(device: &'static str) -> impl Iterator<Item = Target> {
        let is_amd = device.starts_with("hsa");
        WireKind::ALL
            .into_iter()
            .map(move |wire| Target { device, wire })
            .filter(move |target| match target.wire {
                WireKind::GCN_QUEUE => target.is_host() || is_amd,
                WireKind::GCC_RING => !is_amd,
                WireKind::GCC_SLOT => !is_amd && !stand_in::is_for(device),
                _ => true,
            })
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

    /// Whether it is hardware that nothing stands in for.
    #[must_use]
    pub fn is_hardware(&self) -> bool {
        !self.is_host() && !self.is_emu() && !stand_in::is_for(self.device)
    }

    /// Whether it is a GPU, real or emulated, and takes images for GPUs.
    #[must_use]
    pub fn takes_gpu_images(&self) -> bool {
        self.is_hardware() || self.is_emu()
    }

    /// Whether its kernels are those of shared objects, which the build has made on
    /// this machine and tests can change.
    #[must_use]
    pub fn runs_shared_objects(&self) -> bool {
        !self.takes_gpu_images()
    }

    /// Another device of its kind, of which what stands in for hardware has two.
    #[must_use]
    pub fn second(&self) -> &'static str {
        if self.device.starts_with("hsa") {
            "hsa:1"
        } else {
            "cuda:1"
        }
    }

    /// Whether no other process uses the device's memory.
    #[must_use]
    pub fn shares_no_memory(&self) -> bool {
        !self.is_hardware()
    }

    /// Whether a request says which launch it is from.
    #[must_use]
    pub fn tells_launches_apart(&self) -> bool {
        self.is_host()
    }

    /// Whether a kernel that faults takes nothing else with it.
    #[must_use]
    pub fn survives_faults(&self) -> bool {
        self.is_host() || self.is_emu()
    }

    /// What the device says of a kernel that panicked with `words`, at a line of `file`: images
    /// for GPUs keep the place alone.
    #[must_use]
    pub fn words_of_panic(&self, words: &str, file: &str) -> String {
        if self.is_emu() {
            format!("{file}:")
        } else {
            words.to_owned()
        }
    }

    /// Whether a kernel that faults takes the whole device with it.
    #[must_use]
    pub fn is_lost_by_faults(&self) -> bool {
        !self.survives_faults()
    }

    /// Whether the lanes of a warp or wave run in lock-step: one that waits keeps the others from
    /// going on. AMD's do; what stands in for ROCr counts as AMD's.
    #[must_use]
    pub fn runs_in_lock_step(&self) -> bool {
        self.device == "emu:sm_60" || self.device.starts_with("hsa")
    }

    /// Threads that do not wait for each other's calls: those of `grid`, but where lanes run in
    /// lock-step each in a team of its own.
    #[must_use]
    pub fn apart(&self, (teams, threads): (u32, u32)) -> (u32, u32) {
        if self.runs_in_lock_step() {
            (teams * threads, 1)
        } else {
            (teams, threads)
        }
    }

    /// Whether a caller learns how its call ended. On GCC's wires it does not.
    #[must_use]
    pub fn reports_status(&self) -> bool {
        self.wire == WireKind::NATIVE
    }

    /// Whether kernels can print.
    #[must_use]
    pub fn prints(&self) -> bool {
        self.wire == WireKind::GCN_QUEUE
    }

    /// Whether several calls can be under way at once.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        self.wire != WireKind::GCC_SLOT
    }
}

/// A device's name in the names of tests, such as `cuda_0`. Nobody shall take what
/// stands in for hardware for it.
#[must_use]
pub fn device_name(device: &str) -> String {
    if stand_in::is_for(device) {
        let is_amd = device.starts_with("hsa");
        return if is_amd { "hsa_stand_in" } else { "stand_in" }.to_owned();
    }
    device.replace(':', "_")
}
