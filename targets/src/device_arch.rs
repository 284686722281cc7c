//! The architecture of a device, and whether code for another one runs there.
//!
//! Devices are not limited to the [table](crate::arch::ARCHES): any `sm_NN` and any `gfxNNN` is
//! accepted.

use std::fmt;
use std::str::FromStr;

use crate::arch::Target;

/// The architecture of a device: `sm_90`, `gfx90a:sramecc+:xnack-`, or for a
/// machine that is its own device a triple such as `x86_64-unknown-linux-gnu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceArch {
    /// An NVIDIA GPU.
    Nvidia(Sm),
    /// An emulated NVIDIA GPU: it runs PTX, and no machine code.
    Emulated(Sm),
    /// An AMD GPU.
    Amd(AmdTarget),
    /// A machine, by its triple.
    Host(String),
}

impl DeviceArch {
    /// The current machine.
    #[must_use]
    pub fn this_machine() -> Self {
        Self::Host(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
    }

    /// The largest number of threads that run together: the lanes of a warp, or of the widest wave
    /// that code for the device may use.
    #[must_use]
    pub const fn max_lanes(&self) -> u32 {
        match self {
            Self::Nvidia(_) | Self::Emulated(_) => 32,
            Self::Amd(_) => 64,
            Self::Host(_) => 1,
        }
    }

    /// Whether code for `triple` is for this device's family.
    #[must_use]
    pub fn is_of(&self, triple: &str) -> bool {
        architecture(triple)
            == architecture(match self {
                Self::Nvidia(_) | Self::Emulated(_) => Target::Nvptx.offload_triple(),
                Self::Amd(_) => Target::Amdgcn.offload_triple(),
                Self::Host(triple) => triple,
            })
    }
}

/// The first part of a triple. The rest varies between producers of the same code
/// (`amdgcn-amd-amdhsa`, `amdgcn-amd-amdhsa--`).
fn architecture(triple: &str) -> &str {
    triple.split('-').next().unwrap_or(triple)
}

impl fmt::Display for DeviceArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nvidia(sm) | Self::Emulated(sm) => sm.fmt(f),
            Self::Amd(target) => target.fmt(f),
            Self::Host(triple) => f.write_str(triple),
        }
    }
}

impl FromStr for DeviceArch {
    type Err = NoDeviceArch;

    fn from_str(name: &str) -> Result<Self, NoDeviceArch> {
        if name.starts_with("sm_") {
            name.parse().map(Self::Nvidia)
        } else if name.starts_with("gfx") {
            name.parse().map(Self::Amd)
        } else if name.contains('-') && !architecture(name).is_empty() {
            Ok(Self::Host(name.to_owned()))
        } else {
            Err(NoDeviceArch::new(name))
        }
    }
}

/// The numbers of NVIDIA's architectures, from the oldest that GCC supports. Source: the PTX ISA,
/// "Directives: .target".
const NVIDIA: &[u32] = &[
    30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110,
    120, 121,
];

/// The names of NVIDIA's architectures, for messages.
#[must_use]
pub fn nvidia_names() -> String {
    let names: Vec<_> = NVIDIA.iter().map(|number| format!("sm_{number}")).collect();
    names.join(", ")
}

/// An NVIDIA architecture: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sm {
    /// Ten times the major version of the compute capability, plus the minor one.
    pub number: u32,
    /// The suffix.
    pub variant: Variant,
}

/// The features of an NVIDIA architecture that code may use, beyond those that later ones keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// Nothing.
    Plain,
    /// Suffix `f`: features of the family, which is the same major version.
    Family,
    /// Suffix `a`: features of only this architecture.
    Specific,
}

impl Sm {
    /// Whether NVIDIA has such an architecture. Images may be for an unknown one.
    #[must_use]
    pub fn exists(self) -> bool {
        NVIDIA.contains(&self.number)
    }

    /// Whether PTX for `self` runs on `device`. Source: the PTX ISA, "Directives: .target". A
    /// suffix of the device's own name makes no difference.
    #[must_use]
    pub fn ptx_runs_on(self, device: Self) -> bool {
        match self.variant {
            Variant::Plain => self.number <= device.number,
            Variant::Family => self.is_older_of_generation(device),
            Variant::Specific => self.number == device.number,
        }
    }

    /// Whether machine code for `self` runs on `device`. Source: the CUDA C++
    /// programming guide, "Binary Compatibility".
    #[must_use]
    pub fn cubin_runs_on(self, device: Self) -> bool {
        match self.variant {
            Variant::Plain | Variant::Family => self.is_older_of_generation(device),
            Variant::Specific => self.number == device.number,
        }
    }

    fn is_older_of_generation(self, device: Self) -> bool {
        self.number / 10 == device.number / 10 && self.number <= device.number
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            Variant::Plain => "",
            Variant::Family => "f",
            Variant::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

impl FromStr for Sm {
    type Err = NoDeviceArch;

    fn from_str(name: &str) -> Result<Self, NoDeviceArch> {
        let wrong = || NoDeviceArch::new(name);
        let digits = name.strip_prefix("sm_").ok_or_else(wrong)?;
        let (digits, variant) = if let Some(digits) = digits.strip_suffix('a') {
            (digits, Variant::Specific)
        } else if let Some(digits) = digits.strip_suffix('f') {
            (digits, Variant::Family)
        } else {
            (digits, Variant::Plain)
        };
        if !matches!(digits.len(), 2..=3) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let number = digits.parse().map_err(|_| wrong())?;
        Ok(Self { number, variant })
    }
}

/// An AMD processor and its known features: `gfx90a:sramecc+:xnack-`. Source: "Target ID" in LLVM's
/// user guide for AMDGPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmdTarget {
    /// The processor, perhaps a generic one: `gfx90a`, `gfx9-4-generic`.
    pub processor: String,
    /// Features known to be on or off, in the order of the name.
    pub features: Vec<(String, bool)>,
}

/// How well an image fits an AMD GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AmdFit {
    /// It is for a generic processor that covers the GPU's.
    Generic,
    /// It is for the GPU's processor.
    Exact,
}

/// Generic processors and those that they cover. Source: LLVM's user guide for
/// AMDGPU, table "AMDGPU Generic Processors".
const GENERIC: &[(&str, &[&str])] = &[
    (
        "gfx9-generic",
        &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    ),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    (
        "gfx10-1-generic",
        &["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
    ),
    (
        "gfx10-3-generic",
        &[
            "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
        ],
    ),
    (
        "gfx11-generic",
        &[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

impl AmdTarget {
    /// Whether and how well code for `self` runs on `device`. A feature that only one of them names
    /// never contradicts.
    #[must_use]
    pub fn runs_on(&self, device: &Self) -> Option<AmdFit> {
        let contradicts = |(feature, on): &(String, bool)| {
            let mut others = device.features.iter();
            others.any(|(other, is_on)| other == feature && is_on != on)
        };
        if self.features.iter().any(contradicts) {
            return None;
        }
        if self.processor == device.processor {
            return Some(AmdFit::Exact);
        }
        GENERIC
            .iter()
            .find(|(generic, _)| *generic == self.processor)
            .filter(|(_, members)| members.contains(&&*device.processor))
            .map(|_| AmdFit::Generic)
    }
}

impl fmt::Display for AmdTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.processor)?;
        for (feature, on) in &self.features {
            write!(f, ":{feature}{}", if *on { '+' } else { '-' })?;
        }
        Ok(())
    }
}

impl FromStr for AmdTarget {
    type Err = NoDeviceArch;

    fn from_str(name: &str) -> Result<Self, NoDeviceArch> {
        let wrong = || NoDeviceArch::new(name);
        let mut parts = name.split(':');
        let processor = parts.next().ok_or_else(wrong)?;
        let model = processor.strip_prefix("gfx").ok_or_else(wrong)?;
        let is_model = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !model.starts_with(|c: char| c.is_ascii_digit()) || !model.bytes().all(is_model) {
            return Err(wrong());
        }
        let mut features = Vec::new();
        for part in parts {
            let (feature, on) = if let Some(feature) = part.strip_suffix('+') {
                (feature, true)
            } else {
                (part.strip_suffix('-').ok_or_else(wrong)?, false)
            };
            if feature.is_empty() || !feature.bytes().all(|b| b.is_ascii_alphanumeric()) {
                return Err(wrong());
            }
            features.push((feature.to_owned(), on));
        }
        Ok(Self {
            processor: processor.to_owned(),
            features,
        })
    }
}

/// A name that no device has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is no device architecture: sm_NN (as sm_90), gfxNNN (as gfx90a or gfx90a:xnack-) or \
     a machine's triple expected"
)]
pub struct NoDeviceArch {
    /// The name.
    pub name: String,
}

impl NoDeviceArch {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        for name in [
            "sm_35",
            "sm_86",
            "sm_90a",
            "sm_100f",
            "sm_121",
            "gfx906",
            "gfx90a",
            "gfx90a:sramecc+:xnack-",
            "gfx9-4-generic",
            "gfx9-4-generic:xnack+",
            "x86_64-unknown-linux-gnu",
            "aarch64-linux-gnu",
        ] {
            let arch: DeviceArch = name.parse().expect(name);
            assert_eq!(arch.to_string(), name);
        }
    }

    #[test]
    fn what_is_no_device_is_refused_by_name() {
        for name in [
            "",
            "sm_",
            "sm_9",
            "sm_9000",
            "sm_9x",
            "sm_90b",
            "sm_+9",
            "sm_90af",
            "gfx",
            "gfx:xnack+",
            "gfxx",
            "gfx90A",
            "gfx90a:",
            "gfx90a:xnack",
            "gfx90a:+",
            "volta",
            "-linux",
            "x86_64",
        ] {
            let error = name.parse::<DeviceArch>().expect_err(name).to_string();
            assert!(error.starts_with(&format!("`{name}` is no")), "{error}");
        }
    }

    #[test]
    fn this_machine_is_of_its_own_triple() {
        let here = DeviceArch::this_machine();
        assert!(here.is_of(&format!("{}-pc-linux-musl", std::env::consts::ARCH)));
        assert!(!here.is_of("nvptx64-nvidia-cuda") && !here.is_of("riscv64-unknown-linux-gnu"));
    }
}
