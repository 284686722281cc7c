//! Code objects that represent images: the parts that host-rt reads, and the path of a shared
//! object for the `host` device, whose kernels run.

use std::path::{Path, PathBuf};

use host_rt::Image;
use host_rt::image::ImageError;
use host_rt::shared_abi::image::{HOST_ARCH, HOST_WAIT};
use object::Endianness;
use object::read::elf::{ElfFile64, ProgramHeader};
use rmpv::Value;
use standin::declared;
use test_elf::{File, Symbol, metadata_note, note};

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
    let data =
        data.filter(|symbol| symbol.size > 0 && ![HOST_ARCH, HOST_WAIT].contains(&&*symbol.name));
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
    let mut notes = metadata_note(&metadata);
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

/// A symbol, and its bytes if they are in the file.
pub(crate) struct Export {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) value: Option<Vec<u8>>,
}

/// A code object with these notes and symbols.
pub(crate) fn elf(notes: &[u8], exports: &[Export]) -> Vec<u8> {
    /// The address of the data.
    const ADDRESS: u64 = 0x1000;
    let (mut data, mut symbols, mut size) = (Vec::new(), Vec::new(), 0u64);
    for export in exports {
        size = size.next_multiple_of(16);
        symbols.push(Symbol {
            name: &export.name,
            info: 0x11,
            other: 0,
            value: ADDRESS + size,
            size: export.size,
        });
        if let Some(value) = &export.value {
            data.resize(size as usize, 0);
            data.extend(value);
        }
        size += export.size;
    }
    let file = File {
        flags: FLAGS,
        address: ADDRESS,
        data: &data,
        zeros: size - data.len() as u64,
        notes,
        symbols: &symbols,
        ..File::code_object(4)
    };
    file.write()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_those_of_the_target() {
        let mut metadata = Vec::new();
        rmpv::encode::write_value(&mut metadata, &map(Vec::new())).expect("a vector takes all");
        let file = elf(&metadata_note(&metadata), &[]);
        let said = targets::code_object::read(&file).expect("a code object");
        let target = said.target.expect("the flags say one");
        assert_eq!(Some(&*target.processor), TARGET.split(':').next());
    }
}
