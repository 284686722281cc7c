//! The code object in a program: its location and contents.

use std::ops::Range;

use object::elf::RelocationType;
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, SymbolKind, SymbolScope,
};

/// An address in the file, relocated. Source: LLVM, "User Guide for AMDGPU Backend".
pub(crate) const RELATIVE64: RelocationType = RelocationType(13);

type Elf<'b> = ElfFile64<'b, Endianness>;

/// The range of the code object in a program's file.
pub(crate) fn place(program: &[u8]) -> Option<Range<usize>> {
    // A 64-bit little-endian file for AMD's runtime.
    const MAGIC: &[u8] = b"\x7fELF\x02\x01\x01\x40";
    let mut windows = program.windows(MAGIC.len());
    let start = windows.position(|window| window == MAGIC)?;
    let file = &program[start..];
    let word = |at: usize| {
        file.get(at..at + 8)?
            .try_into()
            .ok()
            .map(u64::from_le_bytes)
    };
    let half = |at: usize| {
        file.get(at..at + 2)?
            .try_into()
            .ok()
            .map(u16::from_le_bytes)
    };
    // The table of sections is its last part.
    let sections = word(0x28)? as usize;
    let end = sections + usize::from(half(0x3a)?) * usize::from(half(0x3c)?);
    (end <= file.len()).then(|| start..start + end)
}

/// The contents of a code object.
pub(crate) struct Contents {
    /// The target's flags.
    pub(crate) flags: u32,
    /// Names, addresses and sizes of its exports.
    pub(crate) exports: Vec<(String, u64, u64)>,
    /// The addresses of the functions of host regions.
    pub(crate) reverse: Vec<u64>,
    /// Bytes of the sections with the tables of variables and functions.
    pub(crate) variables: Vec<u8>,
    pub(crate) functions: Vec<u8>,
    pub(crate) variables_at: u64,
    pub(crate) functions_at: u64,
    /// Relocations: types, places and addends.
    pub(crate) relocations: Vec<(RelocationType, u64, i64)>,
    /// Descriptors of kernels: names, and bytes of arguments.
    pub(crate) kernels: Vec<(String, u32)>,
}

impl Contents {
    /// # Errors
    /// An unexpected part.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file = Elf::parse(bytes).map_err(|error| error.to_string())?;
        let name = |symbol: &object::read::elf::ElfSymbol64<'_, '_, Endianness>| {
            symbol.name().unwrap_or_default().to_owned()
        };
        let dynamic = || file.dynamic_symbols().filter(ObjectSymbol::is_definition);
        let exports = dynamic().map(|symbol| (name(&symbol), symbol.address(), symbol.size()));
        let reverse = file.symbols().filter(|symbol| {
            symbol.kind() == SymbolKind::Text
                && symbol.scope() == SymbolScope::Compilation
                && name(symbol).contains(".nohost")
        });
        let section = |name: &str| {
            let section = file.section_by_name(name);
            let section = section.ok_or_else(|| format!("no section {name}"))?;
            let data = section.data().map_err(|error| error.to_string())?;
            Ok::<_, String>((data.to_vec(), section.address()))
        };
        let (variables, variables_at) = section(".gnu.offload_vars").unwrap_or_default();
        let (functions, functions_at) = section(".gnu.offload_funcs")?;
        let relocations = file.dynamic_relocations().into_iter().flatten();
        let relocations = relocations.map(|(at, relocation)| match relocation.flags() {
            RelocationFlags::Elf { r_type } => Ok((r_type, at, relocation.addend())),
            other => Err(format!("{other:?}")),
        });
        let kernels = dynamic().filter_map(|symbol| {
            let name = name(&symbol).strip_suffix(".kd")?.to_owned();
            let mut sections = file.sections();
            let bytes = sections.find_map(|section| {
                let data = section.data_range(symbol.address(), 64);
                data.ok().flatten()
            })?;
            let arguments = u32::from_le_bytes(bytes[8..12].try_into().ok()?);
            Some((name, arguments))
        });
        Ok(Self {
            flags: file.elf_header().e_flags(file.endian()).0,
            exports: exports.collect(),
            reverse: reverse.map(|symbol| symbol.address()).collect(),
            variables,
            functions,
            variables_at,
            functions_at,
            relocations: relocations.collect::<Result<_, _>>()?,
            kernels: kernels.collect(),
        })
    }

    /// A word of a table after relocation, with the file's own addresses.
    pub(crate) fn word(&self, at: u64) -> Option<u64> {
        let mut relocations = self.relocations.iter();
        let (_, _, addend) = relocations.find(|(_, place, _)| *place == at)?;
        Some(addend.cast_unsigned())
    }

    /// Address and size of an export.
    pub(crate) fn export(&self, name: &str) -> Result<(u64, u64), String> {
        let mut exports = self.exports.iter();
        let found = exports.find(|(known, ..)| known == name);
        let (_, address, size) = found.ok_or_else(|| format!("no {name}"))?;
        Ok((*address, *size))
    }
}
