//! Formats of images.

use object::elf;
use targets::fatbin;
use targets::offload_binary::{self, ImageKind};

/// The format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A shared object for the machine with this ELF number.
    SharedObject(u16),
    /// PTX text, for an NVIDIA GPU.
    Ptx,
    /// A cubin, for an NVIDIA GPU.
    Cubin,
    /// A fatbin: PTX and cubins packed by NVIDIA's tools. The driver reads it; [`targets::fatbin`]
    /// lists its contents.
    Fatbin,
    /// A code object, for an AMD GPU.
    CodeObject,
    /// A bundle: several images, for different devices.
    Bundle,
    /// Several images that the device links to one.
    LinkInputs,
}

/// ELF's number for the machine that this code runs on.
pub(crate) const HOST_MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64.0
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64.0
} else {
    elf::EM_NONE.0
};

impl Format {
    /// The format that the first bytes of `bytes` indicate; the rest may be broken.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        if offload_binary::is_offload_binary(bytes) {
            return Some(Self::Bundle);
        }
        if fatbin::is_fatbin(bytes) {
            return Some(Self::Fatbin);
        }
        if bytes.starts_with(b"\x7fELF") {
            let machine = bytes
                .get(18..20)
                .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
            return Some(match elf::Machine(machine) {
                elf::EM_CUDA => Self::Cubin,
                elf::EM_AMDGPU => Self::CodeObject,
                _ => Self::SharedObject(machine),
            });
        }
        is_ptx(bytes).then_some(Self::Ptx)
    }

    /// The format's kind in a bundle.
    pub(super) fn kind(self) -> ImageKind {
        match self {
            Self::SharedObject(_) | Self::CodeObject => ImageKind::OBJECT,
            Self::Ptx => ImageKind::PTX,
            Self::Cubin => ImageKind::CUBIN,
            Self::Fatbin => ImageKind::FATBINARY,
            Self::Bundle | Self::LinkInputs => ImageKind::NONE,
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::SharedObject(machine) => match elf::Machine(machine) {
                elf::EM_X86_64 => f.write_str("a shared object for x86-64"),
                elf::EM_AARCH64 => f.write_str("a shared object for AArch64"),
                _ => write!(f, "a shared object for ELF machine {machine}"),
            },
            Self::Ptx => f.write_str("PTX for an NVIDIA GPU"),
            Self::Cubin => f.write_str("a cubin for an NVIDIA GPU"),
            Self::Fatbin => f.write_str("a fatbin for NVIDIA GPUs"),
            Self::CodeObject => f.write_str("a code object for an AMD GPU"),
            Self::Bundle => f.write_str("several images for different devices"),
            Self::LinkInputs => f.write_str("parts that the device links"),
        }
    }
}

fn is_ptx(bytes: &[u8]) -> bool {
    // Comments and blank lines may come first; `.version` is the first directive.
    let head = &bytes[..bytes.len().min(4096)];
    head.split(|&b| b == b'\n')
        .map(|line| line.trim_ascii())
        .find(|line| !line.is_empty() && !line.starts_with(b"//"))
        .is_some_and(|line| line.starts_with(b".version"))
}
