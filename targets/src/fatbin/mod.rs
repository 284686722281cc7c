//! NVIDIA's *fatbin*: one file with PTX and machine code for several architectures.
//!
//! `nvcc` embeds fatbins in host programs, `fatbinary` and nvFatbin write them as files, and
//! `cuModuleLoadData` and `cuLinkAddData` accept them. NVIDIA does not document the format. Source
//! of the tables: the files that `fatbinary` 13.0 and 13.5, nvFatbin 12.4, 12.9 and 13.5 write for
//! known inputs and options, compared with the listings of `cuobjdump` 13.5, which also name the
//! kinds and flags of files whose bytes were changed by hand.
//!
//! All numbers are little-endian. A header is followed by its entries, and each entry by its
//! payload. A file, or a section `.nv_fatbin`, may contain several fatbins, with zero bytes between
//! them.
//!
//! | header | bytes | |
//! |---|---|---|
//! | 0 | 4 | [`MAGIC`] |
//! | 4 | 2 | version, 1 |
//! | 6 | 2 | size of the header, 16 |
//! | 8 | 8 | size of everything after the header |
//!
//! | entry | bytes | |
//! |---|---|---|
//! | 0 | 2 | [`Kind`] |
//! | 2 | 2 | version, 0x101; `cuobjdump` ignores it |
//! | 4 | 4 | size of the entry's header, with the strings below: the payload's offset |
//! | 8 | 8 | size of the payload, padded to 8 bytes |
//! | 16 | 4 | size of the payload before padding if it is compressed, otherwise 0 |
//! | 20 | 4 | offset of the options, or 0 |
//! | 24 | 2, 2 | code version: minor, major; of PTX, the version of the ISA |
//! | 28 | 4 | architecture: 90 for `sm_90` |
//! | 32 | 4, 4 | offset and size of the identifier, which is usually the name of the source file |
//! | 40 | 8 | [`Flags`] |
//! | 48 | 8 | 0 |
//! | 56 | 8 | size after decompression, or 0 if the payload is not compressed |
//!
//! Offsets count from the start of their entry. The options begin with their offset and their size,
//! 4 bytes each. Identifier and options end in a zero byte outside their size, and are padded to 8
//! bytes.
//!
//! The size of an uncompressed payload includes its padding. PTX ends in a zero byte, also inside
//! compressed payloads.
//!
//! An LZ4 payload is one raw block; a zstd payload is one frame. `fatbinary` 13 and nvFatbin 13
//! write zstd unless asked for speed; the 12.x releases write LZ4 unless asked for a small size.
//!
//! `fatbinary --concat`, new in 13.x, compresses several PTX files together, in one entry of the
//! kind 256. Its options are a count (4 bytes), the size of the options (4 bytes), and that number
//! of entry headers without payloads. In these headers the word at offset 4 is the position of the
//! member in the decompressed payload. [`read()`] returns the members like other entries.

mod decompress;
mod error;
mod read;
mod wrapper;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use decompress::Group;
pub use decompress::MAX_SIZE;
pub use error::ReadError;
pub use read::{is_fatbin, read, whole_size};
pub use wrapper::Wrapper;

use crate::device_arch::Sm;
use crate::offload_binary::ImageKind;

/// The first bytes of a fatbin.
pub const MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();

/// Size of a fatbin's header.
pub const HEADER: usize = 16;

/// Size of an entry's header without identifier and options.
const ENTRY: usize = 64;

/// Alignment of entry headers and payloads.
const ALIGN: usize = 8;

/// One image of a fatbin.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The kind of image.
    pub kind: Kind,
    /// The architecture.
    pub sm: Sm,
    /// The flags.
    pub flags: Flags,
    /// Major and minor version of the code. For PTX, the version of the ISA: nvFatbin 12 drops the
    /// first line of a text, even if it is the directive `.version`.
    pub code_version: (u16, u16),
    /// The identifier, usually the name of the source file; may be empty.
    pub identifier: &'a [u8],
    /// The options for the compiler of PTX and of intermediate code, as on a command line;
    /// attributes in a binary form for machine code. May be empty.
    pub options: &'a [u8],
    /// The compression, unless the payload is stored as it is.
    pub compression: Option<Compression>,
    /// The stored bytes. Entries that were compressed together share them.
    pub payload: &'a [u8],
    /// The size after decompression, as the header states it. Includes the zero byte that ends PTX,
    /// and the padding of a payload that is not compressed.
    pub size: u64,
    /// The offset of the entry's header in the file.
    pub offset: usize,
    /// The entries that are compressed together, and the position of this one in them.
    group: Option<(Arc<Group>, u64)>,
}

impl<'a> Entry<'a> {
    /// The image. PTX has no zero byte at its end; other images that were stored without
    /// compression keep up to seven bytes of padding.
    ///
    /// # Errors
    /// The compression is unknown, the payload is not valid, its size differs from the header's, or
    /// the size exceeds [`MAX_SIZE`] or what the payload can contain.
    pub fn decompress(&self) -> Result<Cow<'a, [u8]>, ReadError> {
        decompress::image(self)
    }

    /// The kind in a file of several images, and for [`choose`](crate::choose::choose).
    #[must_use]
    pub fn image_kind(&self) -> ImageKind {
        match self.kind {
            Kind::PTX => ImageKind::PTX,
            Kind::CUBIN => ImageKind::CUBIN,
            _ => ImageKind::NONE,
        }
    }

    /// The target triple.
    #[must_use]
    pub fn triple(&self) -> &'static str {
        if self.flags.has(Flags::BITS_64) {
            "nvptx64-nvidia-cuda"
        } else {
            "nvptx-nvidia-cuda"
        }
    }
}

/// The kind of an image. Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u16);

impl Kind {
    /// PTX text.
    pub const PTX: Self = Self(1);
    /// Machine code: an ELF file.
    pub const CUBIN: Self = Self(2);
    /// Machine code in an older format; `cuobjdump` calls this kind `cubin`, and the ELF file `elf`.
    pub const OLD_CUBIN: Self = Self(4);
    /// Intermediate code for optimization at link time.
    pub const NVVM: Self = Self(8);
    /// An index of a library.
    pub const INDEX: Self = Self(32);
    /// PTX that has to be linked.
    pub const RELOCATABLE_PTX: Self = Self(64);
    /// Intermediate code for tiles.
    pub const TILE_IR: Self = Self(128);

    /// Several entries that are compressed together.
    const CONCATENATED: Self = Self(256);

    /// A short name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::PTX => "ptx",
            Self::CUBIN => "cubin",
            Self::OLD_CUBIN => "old cubin",
            Self::NVVM => "nvvm",
            Self::INDEX => "index",
            Self::RELOCATABLE_PTX => "relocatable ptx",
            Self::TILE_IR => "tile ir",
            _ => return None,
        })
    }

    const fn is_text(self) -> bool {
        matches!(self, Self::PTX | Self::RELOCATABLE_PTX)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "kind {}", self.0),
        }
    }
}

/// The flags of an entry, one bit each. Unknown bits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags(pub u64);

impl Flags {
    /// Addresses have 64 bits.
    pub const BITS_64: Self = Self(0x1);
    /// Compiled for debugging.
    pub const DEBUG: Self = Self(0x2);
    /// The host runs Linux.
    pub const LINUX: Self = Self(0x10);
    /// The payload is an LZ4 block.
    pub const LZ4: Self = Self(0x2000);
    /// The payload is a zstd frame.
    pub const ZSTD: Self = Self(0x8000);
    /// The architecture has the suffix `a`.
    pub const SPECIFIC: Self = Self(0x10_0000);
    /// The architecture has the suffix `f`.
    pub const FAMILY: Self = Self(0x20_0000);

    /// The bits of all compressions. `cuobjdump` lists an entry with any of them as compressed;
    /// none of the tools above writes the other two.
    const COMPRESSED: u64 = 0xf000;

    /// Whether all bits of `flags` are set.
    #[must_use]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    const fn compression(self) -> Option<Compression> {
        match Self(self.0 & Self::COMPRESSED) {
            Self(0) => None,
            Self::LZ4 => Some(Compression::Lz4),
            Self::ZSTD => Some(Compression::Zstd),
            other => Some(Compression::Unknown(other)),
        }
    }
}

/// The compression of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// A raw LZ4 block.
    Lz4,
    /// A zstd frame.
    Zstd,
    /// Unknown flags, or several at once.
    Unknown(Flags),
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lz4 => f.write_str("LZ4"),
            Self::Zstd => f.write_str("zstd"),
            Self::Unknown(Flags(flags)) => write!(f, "unknown compression (flags {flags:#x})"),
        }
    }
}
