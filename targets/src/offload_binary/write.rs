//! Writing offload binaries.

use super::{ALIGN, ENTRY, Entry, HEADER, KEY_ARCH, KEY_TRIPLE, MAGIC, STRING};

/// The version that every reader supports.
const VERSION: u32 = 1;

/// A file with these images, in this order.
///
/// # Panics
/// A triple or an architecture has a zero byte in it, which the format cannot
/// express.
#[must_use]
pub fn write(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut file = Vec::new();
    for entry in entries {
        write_one(&mut file, entry);
    }
    file
}

fn write_one(file: &mut Vec<u8>, entry: &Entry<'_>) {
    let strings = [(KEY_ARCH, entry.arch), (KEY_TRIPLE, entry.triple)];
    let strings_at = HEADER + ENTRY;
    let text_at = strings_at + strings.len() * STRING;
    let mut text = Vec::new();
    let mut place = |string: &str| {
        assert!(!string.contains('\0'), "{string:?} has a zero byte in it");
        let at = text_at + text.len();
        text.extend_from_slice(string.as_bytes());
        text.push(0);
        at
    };
    let rows = strings.map(|(key, value)| [place(key), place(value)]);
    let image_at = (text_at + text.len()).next_multiple_of(ALIGN);
    let size = (image_at + entry.image.len()).next_multiple_of(ALIGN);

    let start = file.len();
    file.extend(MAGIC);
    file.extend(VERSION.to_le_bytes());
    let mut put = |number: usize| file.extend((number as u64).to_le_bytes());
    put(size);
    put(HEADER);
    put(ENTRY);
    // The kinds; the flags after them are zero.
    put(usize::from(entry.image_kind.0) + (usize::from(entry.offload_kind.0) << 16));
    put(strings_at);
    put(strings.len());
    put(image_at);
    put(entry.image.len());
    rows.into_iter().flatten().for_each(put);
    file.extend(text);
    file.resize(start + image_at, 0);
    file.extend_from_slice(entry.image);
    file.resize(start + size, 0);
}
