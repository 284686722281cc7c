//! Reading offload binaries. The bytes are untrusted: every offset and every size is checked before
//! use, and the work is bounded by the size of the file.

use super::{
    ALIGN, ENTRY, Entry, HEADER, ImageKind, KEY_ARCH, KEY_TRIPLE, MAGIC, OffloadKind, STRING,
};

/// The latest supported version.
const LATEST: u32 = 3;

/// Flag of an entry without an image.
const NO_IMAGE: u32 = 1;

/// The longest triple or architecture; it bounds the cost of one string.
const MAX_STRING: usize = 255;

/// Whether these are the bytes of an offload binary.
#[must_use]
pub fn is_offload_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The images of a file, in order. Entries without an image are left out.
///
/// # Errors
/// The bytes are not an offload binary, are truncated or inconsistent, or the file is compressed.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry<'_>>, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::new(0, "the file is empty"));
    }
    let mut entries = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let size = read_binary(&bytes[at..], at, &mut entries)?;
        at = at.saturating_add(size).next_multiple_of(ALIGN);
    }
    Ok(entries)
}

/// A binary of a file: its bytes from the header on, and its offset in the file.
#[derive(Clone, Copy)]
struct Binary<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Reads the binary at the start of `rest`, at offset `at` of the file; returns its size.
fn read_binary<'a>(
    rest: &'a [u8],
    at: usize,
    entries: &mut Vec<Entry<'a>>,
) -> Result<usize, ReadError> {
    let header = Binary { bytes: rest, at };
    let magic = header.take(0, MAGIC.len(), "the magic")?;
    if magic != MAGIC {
        return Err(header.error(0, format!("{magic:02x?} is not the magic {MAGIC:02x?}")));
    }
    let version = header.u32(4, "the version")?;
    if !(1..=LATEST).contains(&version) {
        let reason = format!("version {version} is not one of 1 to {LATEST}, which are known");
        return Err(header.error(4, reason));
    }
    let header_size = if version < 3 { HEADER } else { HEADER + 8 };
    header.take(0, header_size, "the header")?;
    let size = header.size(8, "the binary's size")?;
    if size < header_size {
        let reason = format!("a binary of {size} bytes is too small for its header");
        return Err(header.error(8, reason));
    }
    let binary = Binary {
        bytes: header.take(0, size, "the binary")?,
        at,
    };
    if version == 3 && binary.size(HEADER, "the size before compression")? != 0 {
        let reason = "the binary is compressed: pack it again without compression";
        return Err(binary.error(HEADER, reason));
    }
    let first = binary.size(16, "the entries' offset")?;
    let count = if version == 1 {
        1
    } else {
        binary.size(24, "the number of entries")?
    };
    let all = count.checked_mul(ENTRY).ok_or_else(|| {
        let reason = format!("{count} entries do not fit a file");
        binary.error(24, reason)
    })?;
    binary.take(first, all, "the entries")?;

    // If the tables of strings do not overlap, the file has no more strings than this.
    let mut strings_left = size / STRING;
    for index in 0..count {
        entries.extend(binary.entry(first + index * ENTRY, version, &mut strings_left)?);
    }
    Ok(size)
}

impl<'a> Binary<'a> {
    fn error(self, offset: usize, reason: impl Into<String>) -> ReadError {
        ReadError::new(self.at.saturating_add(offset), reason)
    }

    fn take(self, offset: usize, len: usize, what: &str) -> Result<&'a [u8], ReadError> {
        offset
            .checked_add(len)
            .and_then(|end| self.bytes.get(offset..end))
            .ok_or_else(|| {
                let reason = format!(
                    "{what} ({len} bytes) ends beyond the {} bytes that there are",
                    self.bytes.len()
                );
                self.error(offset, reason)
            })
    }

    fn number<const N: usize>(self, offset: usize, what: &str) -> Result<u64, ReadError> {
        let bytes = self.take(offset, N, what)?;
        Ok(bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    fn u32(self, offset: usize, what: &str) -> Result<u32, ReadError> {
        Ok(self.number::<4>(offset, what)? as u32)
    }

    /// An offset, a size or a count.
    fn size(self, offset: usize, what: &str) -> Result<usize, ReadError> {
        let number = self.number::<8>(offset, what)?;
        usize::try_from(number)
            .map_err(|_| self.error(offset, format!("{what} is {number:#x}, which is too large")))
    }

    fn entry(
        self,
        at: usize,
        version: u32,
        strings_left: &mut usize,
    ) -> Result<Option<Entry<'a>>, ReadError> {
        let image_kind = ImageKind(self.number::<2>(at, "the image kind")? as u16);
        let offload_kind = OffloadKind(self.number::<2>(at + 2, "the offload kind")? as u16);
        let flags = self.u32(at + 4, "the flags")?;
        if version > 1 && flags & NO_IMAGE != 0 {
            return Ok(None);
        }
        let strings_at = self.size(at + 8, "the strings' offset")?;
        let strings = self.size(at + 16, "the number of strings")?;
        *strings_left = strings_left.checked_sub(strings).ok_or_else(|| {
            let reason = format!("{strings} strings do not fit the binary");
            self.error(at + 16, reason)
        })?;
        let row = if version == 1 { STRING } else { STRING + 8 };
        let (mut triple, mut arch) = (None, None);
        for index in 0..strings {
            let row_at = strings_at.saturating_add(index * row);
            let key_at = self.size(row_at, "a key's offset")?;
            let wanted = if self.is_key(key_at, KEY_TRIPLE) {
                &mut triple
            } else if self.is_key(key_at, KEY_ARCH) {
                &mut arch
            } else {
                continue;
            };
            if wanted.is_none() {
                *wanted = Some(self.value(row_at, version)?);
            }
        }
        let image_at = self.size(at + 24, "the image's offset")?;
        let image_size = self.size(at + 32, "the image's size")?;
        Ok(Some(Entry {
            image_kind,
            offload_kind,
            triple: triple.unwrap_or_default(),
            arch: arch.unwrap_or_default(),
            image: self.take(image_at, image_size, "an image")?,
        }))
    }

    fn is_key(self, at: usize, key: &str) -> bool {
        self.bytes
            .get(at..)
            .and_then(|rest| rest.strip_prefix(key.as_bytes()))
            .is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The value of the string whose row is at `row_at`.
    fn value(self, row_at: usize, version: u32) -> Result<&'a str, ReadError> {
        let at = self.size(row_at + 8, "a value's offset")?;
        let bytes = if version == 1 {
            let rest = self.take(at, 0, "a value").map(|_| &self.bytes[at..])?;
            let end = rest.iter().take(MAX_STRING + 1).position(|&b| b == 0);
            end.map(|end| &rest[..end])
        } else {
            let len = self.size(row_at + STRING, "a value's size")?;
            let bytes = self.take(at, len, "a value")?;
            (len <= MAX_STRING).then_some(bytes)
        };
        let bytes = bytes.ok_or_else(|| {
            let reason = format!("a value does not end within {MAX_STRING} bytes");
            self.error(at, reason)
        })?;
        std::str::from_utf8(bytes).map_err(|_| {
            let reason = format!("{:?} is not UTF-8", String::from_utf8_lossy(bytes));
            self.error(at, reason)
        })
    }
}

/// The reason why bytes are not an offload binary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {reason}")]
pub struct ReadError {
    /// The offset in the file, in bytes.
    pub offset: usize,
    /// The error.
    pub reason: String,
}

impl ReadError {
    fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self {
            offset,
            reason: reason.into(),
        }
    }
}
