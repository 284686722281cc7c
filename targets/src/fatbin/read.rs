//! Reading fatbins. The bytes are untrusted: every offset and every size is checked before use, and
//! the work is bounded by the size of the file.

use std::sync::Arc;

use super::{ALIGN, ENTRY, Entry, Flags, Group, HEADER, Kind, MAGIC, ReadError};
use crate::device_arch::{Sm, Variant};

/// The only known version.
const VERSION: u64 = 1;

/// Size of the offset and the size before options.
const OPTIONS: usize = 8;

/// Whether these are the bytes of a fatbin.
#[must_use]
pub fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The size of the fatbin with this header, in bytes, including the header. For drivers, which get
/// a pointer without a size.
///
/// # Errors
/// The magic, the version or the size is invalid.
pub fn whole_size(header: &[u8; HEADER]) -> Result<usize, ReadError> {
    let header = Part::whole(header);
    let magic = header.take(0, MAGIC.len(), "the magic")?;
    if magic != MAGIC {
        return Err(header.error(0, format!("{magic:02x?} is not the magic {MAGIC:02x?}")));
    }
    let version = header.number::<2>(4, "the version")?;
    if version != VERSION {
        let reason = format!("version {version} is not {VERSION}, the only known version");
        return Err(header.error(4, reason));
    }
    let header_size = header.size::<2>(6, "the header's size")?;
    if header_size < HEADER {
        let reason = format!("a header of {header_size} bytes is smaller than {HEADER} bytes");
        return Err(header.error(6, reason));
    }
    let size = header.size::<8>(8, "the size of the entries")?;
    // No object in memory is larger.
    let whole = header_size.checked_add(size);
    whole
        .filter(|&n| isize::try_from(n).is_ok())
        .ok_or_else(|| {
            let reason = format!("the size of the entries is {size:#x}, which is too large");
            header.error(8, reason)
        })
}

/// The images of all fatbins of a file, in order.
///
/// # Errors
/// The bytes are not a fatbin, or are truncated or inconsistent. Payloads are not checked: see
/// [`Entry::decompress`].
pub fn read(bytes: &[u8]) -> Result<Vec<Entry<'_>>, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::new(0, "the file is empty"));
    }
    let file = Part::whole(bytes);
    let mut entries = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let fatbin = file.fatbin(at)?;
        fatbin.entries(&mut entries)?;
        at += fatbin.bytes.len();
        let padding = bytes[at..].iter().take_while(|&&byte| byte == 0);
        at += padding.count();
    }
    Ok(entries)
}

/// Bytes of a file, and their offset in it.
#[derive(Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Part<'a> {
    fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn error(self, offset: usize, reason: impl Into<String>) -> ReadError {
        ReadError::new(self.at.saturating_add(offset), reason)
    }

    fn take(self, offset: usize, len: usize, what: &str) -> Result<&'a [u8], ReadError> {
        offset
            .checked_add(len)
            .and_then(|end| self.bytes.get(offset..end))
            .ok_or_else(|| {
                let left = self.bytes.len().saturating_sub(offset);
                let reason = format!("{what}: {len} bytes, but only {left} are left");
                self.error(offset, reason)
            })
    }

    fn part(self, offset: usize, len: usize, what: &str) -> Result<Self, ReadError> {
        Ok(Self {
            bytes: self.take(offset, len, what)?,
            at: self.at + offset,
        })
    }

    fn number<const N: usize>(self, offset: usize, what: &str) -> Result<u64, ReadError> {
        let bytes = self.take(offset, N, what)?;
        Ok(bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    /// An offset, a size or a count.
    fn size<const N: usize>(self, offset: usize, what: &str) -> Result<usize, ReadError> {
        let number = self.number::<N>(offset, what)?;
        usize::try_from(number)
            .map_err(|_| self.error(offset, format!("{what} is {number:#x}, which is too large")))
    }

    /// The fatbin at `at`.
    fn fatbin(self, at: usize) -> Result<Self, ReadError> {
        let header = self.take(at, HEADER, "the header")?;
        let header = header.try_into().expect("16 bytes were taken");
        let size = whole_size(header).map_err(|error| error.after(at))?;
        self.part(at, size, "the fatbin")
    }

    /// Adds the entries of this fatbin.
    fn entries(self, entries: &mut Vec<Entry<'a>>) -> Result<(), ReadError> {
        let mut at = self.size::<2>(6, "the header's size")?;
        while at < self.bytes.len() {
            let header_size = self.size::<4>(at + 4, "the size of an entry's header")?;
            if header_size < ENTRY {
                let reason = format!(
                    "an entry's header of {header_size} bytes is smaller than {ENTRY} bytes"
                );
                return Err(self.error(at + 4, reason));
            }
            let header = self.part(at, header_size, "an entry's header")?;
            let padded = header.size::<8>(8, "the size of a payload")?;
            let payload = self.take(at + header_size, padded, "a payload")?;
            let entry = header.entry(payload)?;
            if entry.kind == Kind::CONCATENATED {
                header.members(&entry, entries)?;
            } else {
                entries.push(entry);
            }
            at += header_size + padded;
        }
        Ok(())
    }

    /// The entry with this header.
    fn entry(self, padded: &'a [u8]) -> Result<Entry<'a>, ReadError> {
        self.take(0, ENTRY, "an entry's header")?;
        let flags = Flags(self.number::<8>(40, "the flags")?);
        let compression = flags.compression();
        let (payload, size) = if compression.is_some() {
            let stored = self.size::<4>(16, "the size of a compressed payload")?;
            let payload = padded.get(..stored).ok_or_else(|| {
                let reason = format!(
                    "a compressed payload of {stored} bytes exceeds the payload's {} bytes",
                    padded.len()
                );
                self.error(16, reason)
            })?;
            (payload, self.number::<8>(56, "the decompressed size")?)
        } else {
            (padded, padded.len() as u64)
        };
        let identifier = self.string(32, 36, "the identifier")?;
        let kind = Kind(self.number::<2>(0, "the kind")? as u16);
        let options = match self.size::<4>(20, "the options' offset")? {
            0 => &[],
            _ if kind == Kind::CONCATENATED => &[],
            at => self
                .part(at, OPTIONS, "the options' offset and size")
                .and_then(|_| self.string(at, at + 4, "the options"))?,
        };
        Ok(Entry {
            kind,
            sm: Sm {
                number: self.number::<4>(28, "the architecture")? as u32,
                variant: variant(flags),
            },
            flags,
            code_version: (
                self.number::<2>(26, "the major version")? as u16,
                self.number::<2>(24, "the minor version")? as u16,
            ),
            identifier,
            options,
            compression,
            payload,
            size,
            offset: self.at,
            group: None,
        })
    }

    /// The bytes whose offset and size are at these offsets.
    fn string(self, offset_at: usize, size_at: usize, what: &str) -> Result<&'a [u8], ReadError> {
        match self.size::<4>(size_at, what)? {
            0 => Ok(&[]),
            len => self.take(self.size::<4>(offset_at, what)?, len, what),
        }
    }

    /// Adds the members of an entry of the kind [`Kind::CONCATENATED`], whose header this is.
    fn members(self, whole: &Entry<'a>, entries: &mut Vec<Entry<'a>>) -> Result<(), ReadError> {
        let options_at = self.size::<4>(20, "the members' offset")?;
        let count = self.number::<4>(options_at, "the number of members")?;
        let size = self.size::<4>(options_at.saturating_add(4), "the size of the members")?;
        let members = self.part(options_at, size, "the members")?;
        let group = Arc::new(Group::new(whole.offset, whole.size));
        let (mut at, mut end) = (OPTIONS, 0);
        for _ in 0..count {
            let rest = size.saturating_sub(at);
            let header = members.part(at.min(size), rest, "a member's header")?;
            let member = header.entry(&[])?;
            if member.kind == Kind::CONCATENATED || member.compression.is_some() {
                let (kind, flags) = (member.kind.0, member.flags.0);
                let reason = format!("a member of kind {kind} with flags {flags:#x} is not plain");
                return Err(header.error(0, reason));
            }
            let start = header.number::<4>(4, "a member's position")?;
            let size = header.number::<8>(8, "a member's size")?;
            // Members that overlap would decompress to more than the group.
            let free = end..=whole.size;
            end = start.saturating_add(size);
            if !free.contains(&start) || !free.contains(&end) {
                let reason = format!(
                    "a member of {size} bytes at {start} is not between {} and {}",
                    free.start(),
                    free.end()
                );
                return Err(header.error(4, reason));
            }
            at += header.member_size()?;
            entries.push(Entry {
                compression: whole.compression,
                payload: match whole.compression {
                    Some(_) => whole.payload,
                    None => &whole.payload[start as usize..end as usize],
                },
                size,
                group: Some((Arc::clone(&group), start)),
                ..member
            });
        }
        Ok(())
    }

    /// The size of a member's header: to the end of its strings, which a zero byte follows.
    fn member_size(self) -> Result<usize, ReadError> {
        let mut end = ENTRY;
        let identifier = self.size::<4>(36, "the identifier")?;
        if identifier != 0 {
            end = end.max(self.size::<4>(32, "the identifier")? + identifier + 1);
        }
        let options_at = self.size::<4>(20, "the options' offset")?;
        if options_at != 0 {
            let text_at = self.size::<4>(options_at, "the options")?;
            let text = self.size::<4>(options_at + 4, "the options")?;
            end = end.max(options_at + OPTIONS).max(text_at + text + 1);
        }
        Ok(end.next_multiple_of(ALIGN))
    }
}

fn variant(flags: Flags) -> Variant {
    if flags.has(Flags::SPECIFIC) {
        Variant::Specific
    } else if flags.has(Flags::FAMILY) {
        Variant::Family
    } else {
        Variant::Plain
    }
}
