//! Code objects that represent images: the parts that host-rt reads, and the path of a shared
//! object for the `host` device, whose kernels run.

use std::path::{Path, PathBuf};

use host_rt::Image;
use host_rt::error::ImageError;
use host_rt::shared_abi::image::HOST_ARCH;
use object::Endianness;
use object::read::elf::{ElfFile64, ProgramHeader};
use rmpv::Value;
use standin::declared;

/// The target of the GPUs.
pub const TARGET: &str = "gfx90a:sramecc+:xnack-";

/// The same in the header of a file, with default features.
pub(crate) const FLAGS: u32 = 0x53f;

/// The owner of the note with the path.
const OWNER: &[u8] = b"STANDIN\0";

/// The code object that represents the shared object at `path`, with the exports of `image`, for
/// the GPU `target`. `params` returns the sizes of a kernel's parameters, which a shared object
/// lacks, if they are not all 8 bytes.
///
/// # Errors
/// The image's declarations are invalid.
///
/// # Panics
/// `params` lacks a kernel that needs it.
pub fn code_object(
    path: &Path,
    image: &Image,
    target: &str,
    params: impl Fn(&str) -> Option<Vec<usize>>,
) -> Result<Vec<u8>, ImageError> {
    let mut values = declared::values(image)?;
    let mut kernels = Vec::new();
    let mut exports: Vec<(String, u64)> = Vec::new();
    for kernel in image.kernels()? {
        let declared = kernel.info.map(|info| info.params as usize);
        let sizes = params(&kernel.name).or_else(|| Some(vec![8; declared?]));
        let sizes = sizes.unwrap_or_else(|| panic!("kernel `{}`: unknown sizes", kernel.name));
        kernels.push(metadata(&kernel.name, &sizes));
        exports.push((format!("{}.kd", kernel.name), 64));
    }
    let data = image.symbols().iter().filter(|symbol| !symbol.is_code);
    let data = data.filter(|symbol| symbol.size > 0 && symbol.name != HOST_ARCH);
    exports.extend(data.map(|symbol| (symbol.name.clone(), symbol.size)));
    // Exports without a value in the file come last.
    exports.sort_by_key(|(name, _)| !values.contains_key(name));
    let root = map(vec![
        ("amdhsa.kernels", Value::Array(kernels)),
        (
            "amdhsa.target",
            format!("amdgcn-amd-amdhsa--{target}").into(),
        ),
        ("amdhsa.version", Value::Array(vec![1.into(), 2.into()])),
    ]);
    let mut metadata = Vec::new();
    rmpv::encode::write_value(&mut metadata, &root).expect("a vector takes all");
    let mut notes = note(b"AMDGPU\0", 32, &metadata);
    notes.extend(note(OWNER, 1, path.to_string_lossy().as_bytes()));
    let exports = exports.into_iter().map(|(name, size)| {
        let value = values.remove(&name);
        Export { name, size, value }
    });
    Ok(elf(&notes, &exports.collect::<Vec<_>>()))
}

/// The path in a code object made by [`code_object`].
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    let endian = file.endian();
    for header in file.elf_program_headers() {
        let Ok(Some(mut notes)) = header.notes(endian, bytes) else {
            continue;
        };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == OWNER.strip_suffix(b"\0")? {
                return Some(std::str::from_utf8(note.desc()).ok()?.into());
            }
        }
    }
    None
}

fn map(fields: Vec<(&str, Value)>) -> Value {
    let fields = fields.into_iter();
    Value::Map(fields.map(|(name, value)| (name.into(), value)).collect())
}

/// A kernel's metadata in the compiler's form.
fn metadata(name: &str, sizes: &[usize]) -> Value {
    let arg = |offset: usize, size: usize, kind: &str| {
        map(vec![
            (".offset", offset.into()),
            (".size", size.into()),
            (".value_kind", kind.into()),
        ])
    };
    let (mut args, mut end) = (Vec::new(), 0usize);
    for &size in sizes {
        end = end.next_multiple_of(size.next_power_of_two().min(8));
        args.push(arg(end, size, "by_value"));
        end += size;
    }
    // A hidden argument.
    end = end.next_multiple_of(8);
    args.push(arg(end, 4, "hidden_block_count_x"));
    args.push(arg(end + 4, 2, "hidden_group_size_x"));
    map(vec![
        (".name", name.into()),
        (".symbol", format!("{name}.kd").into()),
        (".args", Value::Array(args)),
        (".kernarg_segment_size", (end + 8).into()),
        (".kernarg_segment_align", 8.into()),
        (".max_flat_workgroup_size", 1024.into()),
        (".vgpr_count", 32.into()),
        (".private_segment_fixed_size", 0.into()),
        (".group_segment_fixed_size", 0.into()),
        (".wavefront_size", 64.into()),
    ])
}

/// A note of an ELF file.
fn note(owner: &[u8], kind: u32, text: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for number in [owner.len() as u32, text.len() as u32, kind] {
        note.extend(number.to_le_bytes());
    }
    for part in [owner, text] {
        note.extend(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}

/// A symbol, and its bytes if they are in the file.
pub(crate) struct Export {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) value: Option<Vec<u8>>,
}

/// Writes numbers in sequence.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn u16(&mut self, number: u16) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }
}

/// A dynamic ELF file for AMD's GPUs with these notes and symbols. Source: the ELF-64 object
/// file format; LLVM's user guide for AMDGPU, "ELF Code Object".
pub(crate) fn elf(notes: &[u8], exports: &[Export]) -> Vec<u8> {
    const HEADER: u64 = 64;
    const SEGMENTS: u64 = 2 * 56;
    let notes_at = HEADER + SEGMENTS;
    let data_at = (notes_at + notes.len() as u64).next_multiple_of(64);
    // The data, at the same offsets in the file and in memory, and the symbols.
    let (mut data, mut strings, mut symbols) = (Vec::new(), vec![0u8], Writer(vec![0; 24]));
    let mut end = data_at;
    for export in exports {
        end = end.next_multiple_of(16);
        symbols.u32(strings.len() as u32);
        // A global object, in the section of data.
        symbols.u16(0x11).u16(DATA).u64(end).u64(export.size);
        strings.extend(export.name.as_bytes());
        strings.push(0);
        if let Some(value) = &export.value {
            data.resize((end - data_at) as usize, 0);
            data.extend(value);
        }
        end += export.size;
    }
    let symbols_at = (data_at + data.len() as u64).next_multiple_of(8);
    let strings_at = symbols_at + symbols.0.len() as u64;
    let sections_at = (strings_at + strings.len() as u64).next_multiple_of(8);
    let mut file = Writer(b"\x7fELF\x02\x01\x01\x40\x04\0\0\0\0\0\0\0".to_vec());
    // A shared object for machine 224, of version 1, without an entry.
    file.u16(3).u16(224).u32(1).u64(0);
    file.u64(HEADER).u64(sections_at);
    file.u32(FLAGS).u16(64).u16(56).u16(2).u16(64).u16(4).u16(2);
    let mut segment = |kind: u32, at: u64, in_file: u64, in_memory: u64| {
        file.u32(kind).u32(6).u64(at).u64(at).u64(at);
        file.u64(in_file).u64(in_memory).u64(4);
    };
    segment(1, data_at, data.len() as u64, end - data_at);
    segment(4, notes_at, notes.len() as u64, notes.len() as u64);
    for (at, bytes) in [
        (notes_at, notes),
        (data_at, &data[..]),
        (symbols_at, &symbols.0[..]),
        (strings_at, &strings[..]),
    ] {
        file.0.resize(at as usize, 0);
        file.0.extend(bytes);
    }
    file.0.resize(sections_at as usize + 64, 0);
    let mut section = |kind: u32, at: u64, size: u64, link: u32, info: u32, each: u64| {
        file.u32(0).u32(kind).u64(2).u64(at).u64(at).u64(size);
        file.u32(link).u32(info).u64(8).u64(each);
    };
    let symbols = symbols.0.len() as u64;
    section(11, symbols_at, symbols, 2, 1, 24);
    section(3, strings_at, strings.len() as u64, 0, 0, 0);
    section(1, data_at, data.len() as u64, 0, 0, 0);
    file.0
}

/// The number of the section of data.
const DATA: u16 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_those_of_the_target() {
        let mut metadata = Vec::new();
        rmpv::encode::write_value(&mut metadata, &map(Vec::new())).expect("a vector takes all");
        let file = elf(&note(b"AMDGPU\0", 32, &metadata), &[]);
        let said = targets::code_object::read(&file).expect("a code object");
        let target = said.target.expect("the flags say one");
        assert_eq!(Some(&*target.processor), TARGET.split(':').next());
    }
}
