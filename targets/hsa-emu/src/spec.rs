//! Properties of GPUs by architecture, one row each.
//!
//! Sources: AMD's data sheets of the first product of each architecture; LLVM, "User Guide for AMDGPU
//! Backend", for features.

use targets::device_arch::AmdTarget;

use gcn_emu::Arch;

/// Maximum memory of a wave's work-items, in bytes.
pub(crate) const MAX_SCRATCH: u64 = 8 << 20;

/// An architecture's properties. Sizes are in bytes, clocks in MHz.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    /// Lanes of a wave.
    pub(crate) wave: u32,
    pub(crate) simds: u32,
    /// Waves of a compute unit.
    pub(crate) waves: u32,
    pub(crate) clock: u32,
    pub(crate) memory_clock: u32,
    /// Bits of the memory bus.
    pub(crate) memory_width: u32,
    pub(crate) cache_line: u32,
    /// Caches by level, from the first.
    pub(crate) caches: &'static [u32],
    pub(crate) shader_engines: u32,
    pub(crate) arrays: u32,
    pub(crate) chip: u32,
    features: &'static [(&'static str, bool)],
}

const CDNA: Spec = Spec {
    wave: 64,
    simds: 4,
    waves: 32,
    clock: 1700,
    memory_clock: 1600,
    memory_width: 4096,
    cache_line: 128,
    caches: &[16 << 10, 8 << 20],
    shader_engines: 8,
    arrays: 1,
    chip: 0x7408,
    features: &[("sramecc", true), ("xnack", false)],
};

const RDNA: Spec = Spec {
    wave: 32,
    simds: 2,
    waves: 32,
    clock: 2482,
    memory_clock: 1249,
    memory_width: 384,
    cache_line: 128,
    caches: &[32 << 10, 6 << 20, 96 << 20],
    shader_engines: 6,
    arrays: 2,
    chip: 0x744c,
    features: &[],
};

impl Spec {
    /// The properties of an architecture.
    pub(crate) const fn of(arch: Arch) -> Self {
        match arch {
            Arch::Gfx906 => Self {
                waves: 40,
                clock: 1725,
                memory_clock: 1000,
                cache_line: 64,
                caches: &[16 << 10, 4 << 20],
                shader_engines: 4,
                chip: 0x66a1,
                ..CDNA
            },
            Arch::Gfx908 => Self {
                waves: 40,
                clock: 1502,
                memory_clock: 1200,
                cache_line: 64,
                chip: 0x738c,
                ..CDNA
            },
            Arch::Gfx90a => CDNA,
            Arch::Gfx942 => Self {
                clock: 2100,
                memory_clock: 1300,
                memory_width: 8192,
                caches: &[32 << 10, 4 << 20, 256 << 20],
                shader_engines: 32,
                chip: 0x74a1,
                ..CDNA
            },
            Arch::Gfx1100 => RDNA,
            Arch::Gfx1201 => Self {
                clock: 2970,
                memory_clock: 1258,
                memory_width: 256,
                cache_line: 256,
                caches: &[32 << 10, 8 << 20, 64 << 20],
                shader_engines: 4,
                chip: 0x7550,
                ..RDNA
            },
        }
    }

    /// Whether a GPU of this architecture has these features, in the order of its name.
    pub(crate) fn target(&self, arch: Arch) -> AmdTarget {
        let features = self.features.iter();
        AmdTarget {
            processor: arch.name().to_owned(),
            features: features.map(|&(name, on)| (name.to_owned(), on)).collect(),
        }
    }
}

/// The name of an instruction set.
pub(crate) fn isa_name(target: &AmdTarget) -> String {
    format!("amdgcn-amd-amdhsa--{target}")
}
