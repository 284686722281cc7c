//! Writes small fatbins for tests, in the form of NVIDIA's `fatbinary` and nvFatbin. Tests of
//! invalid files change the bytes. `targets::fatbin` documents the layout.

/// The compression of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// None.
    Plain,
    /// A raw LZ4 block.
    Lz4,
    /// A zstd frame.
    Zstd,
}

impl Stored {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Lz4, Self::Zstd];

    fn flag(self) -> u64 {
        match self {
            Self::Plain => 0,
            Self::Lz4 => 0x2000,
            Self::Zstd => 0x8000,
        }
    }

    fn compress(self, bytes: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        match self {
            Self::Plain => bytes.to_vec(),
            Self::Lz4 => lz4_flex::block::compress(bytes),
            Self::Zstd => compress_to_vec(bytes, CompressionLevel::Fastest),
        }
    }
}

/// An image to write.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// 1 for PTX, 2 for a cubin.
    pub kind: u16,
    /// The number of the architecture.
    pub arch: u32,
    /// Major and minor version of the code.
    pub version: (u16, u16),
    /// The flags, without that of the compression.
    pub flags: u64,
    /// The identifier; empty for none.
    pub identifier: &'a [u8],
    /// The options.
    pub options: Option<&'a [u8]>,
    /// The image. PTX ends in a zero byte.
    pub bytes: &'a [u8],
    /// The compression.
    pub stored: Stored,
}

/// The words of an entry's header that depend on its form.
#[derive(Clone, Copy)]
struct Words {
    /// The size of the header, or a member's position.
    second: Option<u32>,
    padded: u64,
    stored: u32,
    size: u64,
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

impl Image<'_> {
    /// The entry: header and payload.
    #[must_use]
    pub fn entry(&self) -> Vec<u8> {
        let mut payload = self.stored.compress(self.bytes);
        let stored = payload.len() as u32;
        pad(&mut payload);
        let is_compressed = self.stored != Stored::Plain;
        let mut entry = self.header(&Words {
            second: None,
            padded: payload.len() as u64,
            stored: if is_compressed { stored } else { 0 },
            size: if is_compressed {
                self.bytes.len() as u64
            } else {
                0
            },
        });
        entry.extend(payload);
        entry
    }

    fn header(&self, words: &Words) -> Vec<u8> {
        let mut strings = Vec::new();
        let identifier_at = if self.identifier.is_empty() {
            0
        } else {
            64_u32
        };
        if identifier_at != 0 {
            strings.extend(self.identifier);
            strings.push(0);
            pad(&mut strings);
        }
        let mut options_at = 0;
        if let Some(options) = self.options {
            options_at = 64 + strings.len() as u32;
            strings.extend((options_at + 8).to_le_bytes());
            strings.extend((options.len() as u32).to_le_bytes());
            strings.extend(options);
            strings.push(0);
            pad(&mut strings);
        }
        let (major, minor) = self.version;
        let mut header = Vec::new();
        header.extend(self.kind.to_le_bytes());
        header.extend(0x101_u16.to_le_bytes());
        let size = 64 + strings.len() as u32;
        header.extend(words.second.unwrap_or(size).to_le_bytes());
        header.extend(words.padded.to_le_bytes());
        header.extend(words.stored.to_le_bytes());
        header.extend(options_at.to_le_bytes());
        header.extend(minor.to_le_bytes());
        header.extend(major.to_le_bytes());
        header.extend(self.arch.to_le_bytes());
        header.extend(identifier_at.to_le_bytes());
        header.extend((self.identifier.len() as u32).to_le_bytes());
        header.extend((self.flags | self.stored.flag()).to_le_bytes());
        header.extend([0; 8]);
        header.extend(words.size.to_le_bytes());
        header.extend(strings);
        header
    }
}

/// An entry with these images, compressed together.
#[must_use]
pub fn concatenated(images: &[Image<'_>], stored: Stored) -> Vec<u8> {
    let (mut headers, mut bytes) = (Vec::new(), Vec::new());
    for image in images {
        let mut padded = image.bytes.to_vec();
        pad(&mut padded);
        headers.extend(image.header(&Words {
            second: Some(bytes.len() as u32),
            padded: padded.len() as u64,
            stored: 0,
            size: 0,
        }));
        bytes.extend(padded);
    }
    let whole = Image {
        kind: 256,
        arch: 0,
        version: (0, 1),
        flags: 0x11,
        identifier: b"",
        options: None,
        bytes: &bytes,
        stored,
    };
    let mut entry = whole.entry();
    let size = headers.len() as u32 + 8;
    let members = [
        &(images.len() as u32).to_le_bytes()[..],
        &size.to_le_bytes(),
        &headers,
    ];
    entry.splice(64..64, members.concat());
    entry[4..8].copy_from_slice(&(64 + size).to_le_bytes());
    entry[20..24].copy_from_slice(&64_u32.to_le_bytes());
    entry
}

/// A file with these entries.
#[must_use]
pub fn write(entries: &[Vec<u8>]) -> Vec<u8> {
    let entries = entries.concat();
    let mut file = 0xba55_ed50_u32.to_le_bytes().to_vec();
    file.extend(1_u16.to_le_bytes());
    file.extend(16_u16.to_le_bytes());
    file.extend((entries.len() as u64).to_le_bytes());
    file.extend(entries);
    file
}
