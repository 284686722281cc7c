//! Architectures, and what their instructions' encodings have in common.

use std::fmt;
use std::str::FromStr;

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// Vega 20.
    Gfx906,
    /// CDNA 1.
    Gfx908,
    /// CDNA 2.
    Gfx90a,
    /// CDNA 3.
    Gfx942,
    /// RDNA 3.
    Gfx1100,
    /// RDNA 4.
    Gfx1201,
}

/// Architectures with the same encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// GCN 5 and CDNA.
    Gfx9,
    /// RDNA 3.
    Gfx11,
    /// RDNA 4.
    Gfx12,
}

/// The number of lanes of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaveSize {
    /// 32 lanes, on RDNA only.
    Wave32,
    /// 64 lanes.
    Wave64,
}

/// The architecture and wave size for which code was compiled. A kernel's descriptor has the
/// latter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The architecture.
    pub arch: Arch,
    /// The size of a wave.
    pub wave: WaveSize,
}

impl Arch {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Gfx906,
        Self::Gfx908,
        Self::Gfx90a,
        Self::Gfx942,
        Self::Gfx1100,
        Self::Gfx1201,
    ];

    /// Its generation.
    #[must_use]
    pub const fn generation(self) -> Generation {
        match self {
            Self::Gfx906 | Self::Gfx908 | Self::Gfx90a | Self::Gfx942 => Generation::Gfx9,
            Self::Gfx1100 => Generation::Gfx11,
            Self::Gfx1201 => Generation::Gfx12,
        }
    }

    /// Its name, such as `gfx90a`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx906 => "gfx906",
            Self::Gfx908 => "gfx908",
            Self::Gfx90a => "gfx90a",
            Self::Gfx942 => "gfx942",
            Self::Gfx1100 => "gfx1100",
            Self::Gfx1201 => "gfx1201",
        }
    }

    /// Whether memory instructions may access accumulation registers, by a bit of their own.
    #[must_use]
    pub(crate) const fn has_unified_registers(self) -> bool {
        matches!(self, Self::Gfx90a | Self::Gfx942)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is none of [`Arch`]'s.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown architecture `{0}`; supported are gfx906, gfx908, gfx90a, gfx942, gfx1100, gfx1201"
)]
pub struct UnknownArch(String);

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let found = Self::ALL.into_iter().find(|arch| arch.name() == name);
        found.ok_or_else(|| UnknownArch(name.to_owned()))
    }
}

impl Target {
    /// The target of code for `arch` with its compilers' default size of a wave.
    #[must_use]
    pub const fn new(arch: Arch) -> Self {
        let wave = match arch.generation() {
            Generation::Gfx9 => WaveSize::Wave64,
            Generation::Gfx11 | Generation::Gfx12 => WaveSize::Wave32,
        };
        Self { arch, wave }
    }
}
