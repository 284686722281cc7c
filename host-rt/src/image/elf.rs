//! Reading shared objects, cubins and code objects.

use object::elf::{PF_W, PF_X};
use object::{
    File, Object, ObjectKind, ObjectSection, ObjectSegment, ObjectSymbol, SectionKind,
    SegmentFlags, SymbolFlags, SymbolKind,
};

use targets::code_object;

use super::contents::{Contents, MAX_VALUE};
use super::{Format, NoImage, Segment, Symbol};

/// Bit of a kernel's symbol in a cubin, in ELF's `st_other`; functions that kernels call are global
/// too. Source: `STO_CUDA_ENTRY` in NVIDIA's cuda-gdb.
const CUBIN_KERNEL: u8 = 0x10;

/// The suffix of the symbol of a kernel's descriptor in a code object, after the kernel's name.
/// Source: "Code Object V3 and above, Symbols" in LLVM's user guide for AMDGPU.
const DESCRIPTOR: &str = ".kd";

/// Reads an ELF file in `format`.
pub(super) fn read(bytes: &[u8], format: Format) -> Result<Contents, NoImage> {
    let file = File::parse(bytes).map_err(NoImage::Elf)?;
    if !file.is_64() || !file.is_little_endian() {
        return Err(NoImage::OtherElf);
    }
    // The same tables that drivers use: a cubin has no dynamic symbols.
    let symbols: Vec<_> = match format {
        Format::Cubin => file.symbols().filter(|symbol| !symbol.is_local()).collect(),
        _ if file.kind() == ObjectKind::Dynamic => file.dynamic_symbols().collect(),
        _ => {
            let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
            let kind = file.kind();
            return Err(NoImage::NotShared { kind, machine });
        }
    };
    let mut contents = Contents::default();
    for symbol in symbols.iter().filter(|symbol| symbol.is_definition()) {
        let Ok(name) = symbol.name() else { continue };
        let is_code = symbol.kind() == SymbolKind::Text;
        if format == Format::Cubin && is_code && is_cubin_kernel(symbol) {
            contents.entries.push(name.to_owned());
        }
        if format == Format::CodeObject
            && let Some(kernel) = name.strip_suffix(DESCRIPTOR)
        {
            contents.entries.push(kernel.to_owned());
        }
        if !is_code && let Some(value) = value(&file, symbol, format) {
            contents.values.entry(name.to_owned()).or_insert(value);
        }
        contents.symbols.push(Symbol {
            name: name.to_owned(),
            address: symbol.address(),
            size: symbol.size(),
            is_code,
        });
    }
    if let Format::SharedObject(_) = format {
        contents.entries = Contents::functions(&contents.symbols);
    }
    if format == Format::CodeObject {
        // A code object with broken metadata is rejected when it is loaded, with the reason.
        let kernels = code_object::read(bytes).map_or_else(|_| vec![], |read| read.kernels);
        contents.params = kernels
            .iter()
            .filter(|kernel| kernel.args.is_some())
            .map(|kernel| {
                let sizes = kernel.parameters().map(|arg| arg.size.into());
                (kernel.name.clone(), sizes.collect())
            })
            .collect();
    }
    contents.segments = file
        .segments()
        .map(|segment| self::segment(&segment))
        .collect();
    Ok(contents)
}

fn segment<'data>(segment: &impl ObjectSegment<'data>) -> Segment {
    let has = |flag| match segment.flags() {
        SegmentFlags::Elf { p_flags, .. } => p_flags.0 & flag != 0,
        _ => false,
    };
    Segment {
        address: segment.address(),
        size: segment.size(),
        writable: has(PF_W.0),
        executable: has(PF_X.0),
    }
}

/// Whether a function of a cubin is a kernel.
fn is_cubin_kernel<'data>(symbol: &impl ObjectSymbol<'data>) -> bool {
    matches!(symbol.flags(), SymbolFlags::Elf { st_other, .. } if st_other.0 & CUBIN_KERNEL != 0)
}

/// The initial bytes of a small variable.
fn value<'data>(
    file: &File<'data>,
    symbol: &impl ObjectSymbol<'data>,
    format: Format,
) -> Option<Vec<u8>> {
    let (address, size) = (symbol.address(), symbol.size());
    if size > MAX_VALUE {
        return None;
    }
    let zeros = || vec![0; size as usize];
    if format == Format::Cubin {
        // A cubin has no addresses yet: a symbol's is an offset.
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let end = address.checked_add(size)?;
        if section.kind() == SectionKind::UninitializedData {
            return (end <= section.size()).then(zeros);
        }
        let start = section.address().checked_add(address)?;
        return Some(section.data_range(start, size).ok()??.to_vec());
    }
    file.segments().find_map(|segment| {
        let bytes = segment.data_range(address, size).ok()?;
        bytes.map(<[u8]>::to_vec).or_else(|| {
            // Memory after the file's part of a segment starts as zeros.
            let (_, in_file) = segment.file_range();
            let offset = address.checked_sub(segment.address())?;
            let is_behind = offset >= in_file && offset.checked_add(size)? <= segment.size();
            is_behind.then(zeros)
        })
    })
}
