//! The architectures that images are built for, one row each. `targets/README.md` lists what a new architecture needs
//! besides its row.

/// A family of GPUs with one compiler back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// NVIDIA GPUs, through PTX.
    Nvptx,
    /// AMD GPUs.
    Amdgcn,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Nvptx, Self::Amdgcn];

    /// rustc's name for it.
    #[must_use]
    pub const fn rust_triple(self) -> &'static str {
        match self {
            Self::Nvptx => "nvptx64-nvidia-cuda",
            Self::Amdgcn => "amdgcn-amd-amdhsa",
        }
    }

    /// The triple that clang and LLVM's tools write into [offload binaries](crate::offload_binary).
    #[must_use]
    pub const fn offload_triple(self) -> &'static str {
        match self {
            Self::Nvptx => "nvptx64-nvidia-cuda",
            Self::Amdgcn => "amdgcn-amd-amdhsa",
        }
    }
}

/// An architecture that images are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arch {
    /// Its name, as for `-C target-cpu`.
    pub name: &'static str,
    /// Its family.
    pub target: Target,
    /// The PTX version of images for it, major and minor; none for other targets. It is the oldest
    /// that supports the architecture, so that old drivers read the images too, but not below 6.3.
    pub ptx: Option<(u32, u32)>,
    /// Whether a trap may stand anywhere in a function. LLVM up to 22 forgets to expand what comes
    /// after one on gfx11, and then fails with "Unsupported instruction" (llvm-project #208912,
    /// fixed by #174774).
    pub traps_in_place: bool,
    /// Whether LLVM up to 22 waits for the write-back of a release in any case. On gfx90a and
    /// gfx942 it does not if it knows of no access in flight (llvm-project
    /// #178316); device-rt then waits itself.
    pub waits_for_write_back: bool,
    /// Whether a store's scope is part of the instruction, so that LLVM's plain stores do not reach the
    /// host in time; only on AMD GPUs.
    pub stores_have_scope: bool,
    /// Whether LLVM 22 uses the halves of vector registers (`real-true16`). It loses a low half for which it
    /// combines a load of the high half with a value from another block, so images do without.
    pub has_register_halves: bool,
    /// The vector registers that the waves of a SIMD unit share; none for other targets.
    pub vector_registers: Option<VectorRegisters>,
}

/// Vector registers of a SIMD unit of an AMD GPU, for waves of the default size. Source: LLVM,
/// `AMDGPUBaseInfo.cpp`, `getTotalNumVGPRs` and `getVGPRAllocGranule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorRegisters {
    /// Registers of one lane of all waves together.
    pub of_lane: u32,
    /// The granularity of a wave's registers.
    pub granule: u32,
}

impl VectorRegisters {
    /// The registers of a processor such as `gfx90a`; for an unknown one the minimum of all.
    #[must_use]
    pub fn of(processor: &str) -> Self {
        let known = find(processor).ok().and_then(|arch| arch.vector_registers);
        known.unwrap_or(Self {
            of_lane: 256,
            granule: 8,
        })
    }

    /// The number of waves that a SIMD unit holds at a time if a lane takes `used` registers: at
    /// least one, since compilers never use more registers than there are.
    #[must_use]
    pub fn waves(self, used: u32) -> u32 {
        let taken = used.max(1).checked_next_multiple_of(self.granule);
        (self.of_lane / taken.unwrap_or(u32::MAX)).max(1)
    }
}

impl Arch {
    /// The version of PTX as rustc and LLVM name it as a target feature: `ptx63`.
    #[must_use]
    pub fn ptx_feature(&self) -> Option<String> {
        self.ptx.map(|(major, minor)| format!("ptx{major}{minor}"))
    }
}

const fn nvptx(name: &'static str, major: u32, minor: u32) -> Arch {
    Arch {
        name,
        target: Target::Nvptx,
        ptx: Some((major, minor)),
        traps_in_place: true,
        waits_for_write_back: true,
        stores_have_scope: false,
        has_register_halves: false,
        vector_registers: None,
    }
}

const fn amdgcn(name: &'static str, of_lane: u32, granule: u32) -> Arch {
    Arch {
        name,
        target: Target::Amdgcn,
        ptx: None,
        traps_in_place: true,
        waits_for_write_back: true,
        stores_have_scope: false,
        has_register_halves: false,
        vector_registers: Some(VectorRegisters { of_lane, granule }),
    }
}

/// The table, oldest first within a target.
pub const ARCHES: &[Arch] = &[
    nvptx("sm_35", 6, 3),
    nvptx("sm_50", 6, 3),
    nvptx("sm_60", 6, 3),
    nvptx("sm_70", 6, 3),
    nvptx("sm_75", 6, 3),
    nvptx("sm_80", 7, 0),
    nvptx("sm_90", 7, 8),
    nvptx("sm_100", 8, 6),
    amdgcn("gfx906", 256, 4),
    amdgcn("gfx908", 256, 4),
    Arch {
        waits_for_write_back: false,
        ..amdgcn("gfx90a", 512, 8)
    },
    Arch {
        waits_for_write_back: false,
        stores_have_scope: true,
        ..amdgcn("gfx942", 512, 8)
    },
    amdgcn("gfx1030", 1024, 16),
    Arch {
        traps_in_place: false,
        has_register_halves: true,
        ..amdgcn("gfx1100", 1536, 24)
    },
    Arch {
        stores_have_scope: true,
        ..amdgcn("gfx1201", 1536, 24)
    },
];

/// The architecture called `name`.
///
/// # Errors
/// The table has no architecture of that name.
pub fn find(name: &str) -> Result<&'static Arch, UnknownArch> {
    ARCHES
        .iter()
        .find(|arch| arch.name == name)
        .ok_or_else(|| UnknownArch {
            name: name.to_owned(),
        })
}

/// The names in the table, for messages.
#[must_use]
pub fn names() -> String {
    let names: Vec<_> = ARCHES.iter().map(|arch| arch.name).collect();
    names.join(", ")
}

/// A name that is not in the [table](ARCHES).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("images are not built for `{name}`, only for {}", names())]
pub struct UnknownArch {
    /// The requested name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceArch;

    #[test]
    fn names_are_found_and_unknown_ones_are_answered_with_the_list() {
        assert_eq!(find("sm_70").map(|arch| arch.target), Ok(Target::Nvptx));
        assert_eq!(find("gfx90a").map(|arch| arch.target), Ok(Target::Amdgcn));
        let error = find("sm_71").expect_err("not in the table").to_string();
        for word in ["`sm_71`", "sm_35, ", ", gfx1201"] {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn each_row_is_one_device_and_stands_once() {
        for (row, arch) in ARCHES.iter().enumerate() {
            let device: DeviceArch = arch.name.parse().expect("a device's name");
            let target = match device {
                DeviceArch::Nvidia(_) | DeviceArch::Emulated(_) => Target::Nvptx,
                DeviceArch::Amd(_) => Target::Amdgcn,
                DeviceArch::Host(_) => panic!("{} is no GPU", arch.name),
            };
            assert_eq!(arch.target, target, "{}", arch.name);
            assert_eq!(arch.ptx.is_some(), target == Target::Nvptx, "{}", arch.name);
            let is_amd = target == Target::Amdgcn;
            assert_eq!(arch.vector_registers.is_some(), is_amd, "{}", arch.name);
            assert_eq!(
                ARCHES[row..].iter().filter(|a| a.name == arch.name).count(),
                1
            );
        }
    }

    #[test]
    fn there_is_room_for_one_wave_at_least() {
        for (processor, used, waves) in [
            ("gfx906", 24, 10),
            ("gfx906", 256, 1),
            ("gfx90a", 260, 1),
            ("gfx90a", 512, 1),
            ("gfx90a", 256, 2),
            ("gfx90a", 0, 64),
            ("gfx1100", 256, 5),
            ("gfx1", 32, 8),
            ("gfx1", 400, 1),
            ("gfx1", u32::MAX, 1),
        ] {
            let found = VectorRegisters::of(processor).waves(used);
            assert_eq!(found, waves, "{used} of {processor}");
        }
    }

    #[test]
    fn ptx_features_are_spelled_as_rustc_does() {
        assert_eq!(
            find("sm_75").unwrap().ptx_feature().as_deref(),
            Some("ptx63")
        );
        assert_eq!(
            find("sm_100").unwrap().ptx_feature().as_deref(),
            Some("ptx86")
        );
        assert_eq!(find("gfx906").unwrap().ptx_feature(), None);
    }
}
