//! Decompressing payloads. Memory is bounded by the size of the payload as well as by [`MAX_SIZE`],
//! whatever the header states.

use std::borrow::Cow;
use std::io::Read;
use std::sync::OnceLock;

use lz4_flex::block::DecompressError;
use ruzstd::decoding::StreamingDecoder;

use super::{Compression, Entry, ReadError};

/// The largest size after decompression, in bytes.
pub const MAX_SIZE: u64 = 256 << 20;

/// The largest number of bytes that a byte of an LZ4 block adds to a match.
const LZ4_RATIO: u64 = 255;

/// A zstd block of 4 bytes, with its header, repeats one byte up to 128 KiB.
const ZSTD_RATIO: u64 = (128 << 10) / 4;

/// The window that every zstd decoder should support, whatever the size of the content (RFC 8878,
/// 3.1.1.1.2).
const ZSTD_WINDOW: u64 = 8 << 20;

/// The offset of the flags in an entry's header.
const FLAGS_AT: usize = 40;

/// The offset of the decompressed size.
const SIZE_AT: usize = 56;

/// Entries that are compressed together. Decompressed once, so that reading all entries of a file
/// takes time in proportion to its size.
#[derive(Debug)]
pub(super) struct Group {
    /// The offset of the header of all of them.
    pub(super) offset: usize,
    /// The size of all of them after decompression.
    pub(super) size: u64,
    image: OnceLock<Result<Vec<u8>, ReadError>>,
}

impl Group {
    pub(super) fn new(offset: usize, size: u64) -> Self {
        Self {
            offset,
            size,
            image: OnceLock::new(),
        }
    }
}

pub(super) fn image<'a>(entry: &Entry<'a>) -> Result<Cow<'a, [u8]>, ReadError> {
    let Some(compression) = entry.compression else {
        return Ok(Cow::Borrowed(trim(entry, entry.payload)));
    };
    let Some((group, start)) = &entry.group else {
        let mut image = whole(entry.payload, compression, entry.size, entry.offset)?;
        let len = trim(entry, &image).len();
        image.truncate(len);
        return Ok(Cow::Owned(image));
    };
    let whole = || whole(entry.payload, compression, group.size, group.offset);
    let image = group.image.get_or_init(whole);
    let image = image.as_ref().map_err(ReadError::clone)?;
    // `read` has checked that all members end within the group.
    let (start, size) = (*start as usize, entry.size as usize);
    Ok(Cow::Owned(
        trim(entry, &image[start..start + size]).to_owned(),
    ))
}

/// The whole payload after decompression, which has `size` bytes. `offset` is that of its header.
fn whole(
    payload: &[u8],
    compression: Compression,
    size: u64,
    offset: usize,
) -> Result<Vec<u8>, ReadError> {
    let error = |at, reason| ReadError::new(offset.saturating_add(at), reason);
    let (ratio, decompress): (_, fn(&[u8], usize) -> Result<_, _>) = match compression {
        Compression::Lz4 => (LZ4_RATIO, lz4),
        Compression::Zstd => (ZSTD_RATIO, zstd),
        Compression::Unknown(_) => {
            let reason = format!("{compression}: pack it again with LZ4, zstd or no compression");
            return Err(error(FLAGS_AT, reason));
        }
    };
    let limit = (payload.len() as u64).saturating_mul(ratio).min(MAX_SIZE);
    if size > limit {
        let reason = format!(
            "the decompressed size is {size}, but {} bytes of {compression} are supported up to \
             {limit}",
            payload.len()
        );
        return Err(error(SIZE_AT, reason));
    }
    let size = size as usize;
    match decompress(payload, size) {
        Ok(image) if image.len() == size => Ok(image),
        Err(Failure::Invalid(reason)) => {
            Err(error(0, format!("invalid {compression} payload: {reason}")))
        }
        other => {
            let than = if other.is_ok() { "fewer" } else { "more" };
            let reason =
                format!("the decompressed size is {size}, but the payload has {than} bytes");
            Err(error(SIZE_AT, reason))
        }
    }
}

/// The reason why a payload cannot be decompressed.
enum Failure {
    /// It has more bytes than the header states.
    TooLong,
    /// It is not of the stated format.
    Invalid(String),
}

impl Failure {
    fn invalid(error: impl ToString) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// `image` without the zero bytes that end a text.
fn trim<'b>(entry: &Entry<'_>, image: &'b [u8]) -> &'b [u8] {
    if !entry.kind.is_text() {
        return image;
    }
    let zeroes = image.iter().rev().take_while(|&&byte| byte == 0).count();
    &image[..image.len() - zeroes]
}

/// At most `size` bytes.
fn lz4(payload: &[u8], size: usize) -> Result<Vec<u8>, Failure> {
    let mut image = vec![0; size];
    match lz4_flex::block::decompress_into(payload, &mut image) {
        Ok(len) => image.truncate(len),
        Err(DecompressError::OutputTooSmall { .. }) => return Err(Failure::TooLong),
        Err(error) => return Err(Failure::invalid(error)),
    }
    Ok(image)
}

/// At most `size` bytes.
fn zstd(payload: &[u8], size: usize) -> Result<Vec<u8>, Failure> {
    let window = ZSTD_WINDOW.max(size as u64);
    let mut decoder =
        StreamingDecoder::new_with_max_window_size(payload, window).map_err(Failure::invalid)?;
    let mut image = Vec::new();
    (&mut decoder)
        .take(size as u64 + 1)
        .read_to_end(&mut image)
        .map_err(Failure::invalid)?;
    if image.len() > size {
        return Err(Failure::TooLong);
    }
    match decoder.into_inner().len() {
        0 => Ok(image),
        left => Err(Failure::invalid(format!("{left} bytes follow the frame"))),
    }
}
