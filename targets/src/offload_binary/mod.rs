//! LLVM's *offload binary*: one file with device images for several architectures, each with its
//! triple, its architecture and its kind.
//!
//! clang's offloading embeds such files in host programs, and `llvm-offload-binary`
//! packs and unpacks them. Source of the format: `llvm/Object/OffloadBinary.h` and
//! `.cpp`. All numbers are little-endian, all offsets count from the header of
//! their binary.
//!
//! | header | bytes | version 1 | versions 2 and 3 |
//! |---|---|---|---|
//! | 0 | 4 | magic `10 ff 10 ad` | the same |
//! | 4 | 4 | version | the same |
//! | 8 | 8 | size of the whole binary | the same |
//! | 16 | 8 | offset of the entry | offset of the first entry |
//! | 24 | 8 | size of the entry | number of entries |
//! | 32 | 8 | | version 3: size before compression, 0 where there is none |
//!
//! | entry | bytes | |
//! |---|---|---|
//! | 0 | 2 | [`ImageKind`] |
//! | 2 | 2 | [`OffloadKind`] |
//! | 4 | 4 | flags; bit 0 from version 2 on: no image, only strings |
//! | 8 | 8 | offset of the table of strings |
//! | 16 | 8 | number of strings |
//! | 24 | 8 | offset of the image |
//! | 32 | 8 | size of the image |
//!
//! A row of the table of strings is the offset of a key and that of a value, both ended by a zero
//! byte; from version 2 on also the value's size, and no zero byte has to end it. The keys used
//! here are `triple` and `arch`; others are ignored.
//!
//! A file of version 1 has one binary per image, one after the other, each aligned to 8 bytes. LLVM
//! 22 and [`write()`] write this version, since every LLVM with this format reads it; [`read()`]
//! reads all three versions.

mod read;
mod write;

use std::fmt;

pub use read::{ReadError, is_offload_binary, read};
pub use write::write;

/// The first bytes of a file.
const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// Size of a header of versions 1 and 2.
const HEADER: usize = 32;

/// Size of an entry.
const ENTRY: usize = 40;

/// Size of a row of the table of strings in version 1.
const STRING: usize = 16;

/// Alignment of binaries in a file, and of images.
const ALIGN: usize = 8;

const KEY_TRIPLE: &str = "triple";
const KEY_ARCH: &str = "arch";

/// One image of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The kind of image.
    pub image_kind: ImageKind,
    /// The runtime that loads it.
    pub offload_kind: OffloadKind,
    /// The target triple.
    pub triple: &'a str,
    /// The architecture; may be empty.
    pub arch: &'a str,
    /// Its bytes.
    pub image: &'a [u8],
}

/// The kind of an image. Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageKind(pub u16);

impl ImageKind {
    /// Unspecified.
    pub const NONE: Self = Self(0);
    /// An object file: AMD's driver or the system's loader loads it.
    pub const OBJECT: Self = Self(1);
    /// LLVM bitcode.
    pub const BITCODE: Self = Self(2);
    /// Machine code for an NVIDIA GPU.
    pub const CUBIN: Self = Self(3);
    /// NVIDIA's own file of several images.
    pub const FATBINARY: Self = Self(4);
    /// PTX text.
    pub const PTX: Self = Self(5);
    /// SPIR-V.
    pub const SPIRV: Self = Self(6);

    /// All kinds with a name.
    pub const ALL: [Self; 7] = [
        Self::NONE,
        Self::OBJECT,
        Self::BITCODE,
        Self::CUBIN,
        Self::FATBINARY,
        Self::PTX,
        Self::SPIRV,
    ];

    /// A short name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NONE => "none",
            Self::OBJECT => "object",
            Self::BITCODE => "bitcode",
            Self::CUBIN => "cubin",
            Self::FATBINARY => "fatbin",
            Self::PTX => "ptx",
            Self::SPIRV => "spirv",
            _ => return None,
        })
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "image kind {}", self.0),
        }
    }
}

/// The runtime that is to load an image. One bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OffloadKind(pub u16);

impl OffloadKind {
    /// Unspecified.
    pub const NONE: Self = Self(0);
    /// OpenMP's.
    pub const OPENMP: Self = Self(1);
    /// CUDA's.
    pub const CUDA: Self = Self(2);
    /// HIP's.
    pub const HIP: Self = Self(4);
}
