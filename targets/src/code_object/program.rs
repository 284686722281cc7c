//! The parts of a code object that a loader needs: segments, symbols and relocations. Any bytes are an
//! error or a program whose parts are consistent.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend": ELF code object, relocation records, code object V3 kernel
//! descriptor.

use object::elf::{self, RelocationType};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, SectionIndex, SymbolIndex};

use super::flags;
use crate::device_arch::AmdTarget;

type Elf<'b> = ElfFile64<'b, LittleEndian>;

/// The machine of AMD GPUs, and the operating system of code objects.
const EM_AMDGPU: u16 = 224;
const ELFOSABI_AMDGPU_HSA: u8 = 64;

/// The versions of the ABI: code objects of version 3 to 6.
const ABI_VERSIONS: std::ops::RangeInclusive<u8> = 1..=4;

/// The most segments and symbols, and the longest name: far more than compilers need.
const MAX_SEGMENTS: usize = 1 << 10;
const MAX_SYMBOLS: usize = 1 << 20;

/// Bytes of a kernel's descriptor.
pub const DESCRIPTOR: usize = 64;

/// A code object as it is loaded. Addresses are those of the file.
#[derive(Clone, Debug)]
pub struct Program<'b> {
    /// The processor, and its features if the file names them.
    pub target: AmdTarget,
    /// Its segments, which do not overlap, in the order of their addresses.
    pub segments: Vec<Segment<'b>>,
    /// Its dynamic symbols: those that programs find, and those of relocations, by their index. The first one is
    /// empty.
    pub symbols: Vec<Symbol<'b>>,
    /// Functions, exported or not: their addresses and names.
    pub functions: Vec<(u64, &'b str)>,
    /// The values that the loader writes.
    pub relocations: Vec<Relocation>,
}

/// Memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'b> {
    /// Its begin.
    pub address: u64,
    /// Its size in bytes; the end is in range.
    pub size: u64,
    /// Its first bytes; the others are zeros.
    pub bytes: &'b [u8],
    /// Whether kernels may write to it.
    pub is_writable: bool,
    /// Whether it has code.
    pub is_executable: bool,
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'b> {
    /// Its name.
    pub name: &'b str,
    /// Its address; 0 if it is not defined.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its kind.
    pub kind: SymbolKind,
    /// Whether it is defined in the file.
    pub is_defined: bool,
    /// Whether it may be undefined.
    pub is_weak: bool,
    /// Whether only its own file sees it.
    pub is_local: bool,
}

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// The descriptor of a kernel.
    Kernel,
    /// A variable.
    Variable,
    /// A function.
    Function,
    /// Something else, such as a section.
    Other,
}

/// A value that the loader writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The address of the value.
    pub address: u64,
    /// How the value is computed.
    pub kind: RelocationKind,
    /// The index of its symbol, which exists; 0 for none.
    pub symbol: usize,
    /// The number that is added.
    pub addend: i64,
}

/// How a relocation's value is computed, with the names of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationKind {
    /// The low half of the address.
    Abs32Lo,
    /// The high half of the address.
    Abs32Hi,
    /// The address.
    Abs64,
    /// The address, which has 32 bits.
    Abs32,
    /// The distance, which has 32 bits.
    Rel32,
    /// The distance.
    Rel64,
    /// The low half of the distance.
    Rel32Lo,
    /// The high half of the distance.
    Rel32Hi,
    /// The begin of the program, and the addend.
    Relative64,
}

impl RelocationKind {
    fn of(kind: RelocationType) -> Option<Self> {
        Some(match kind.0 {
            1 => Self::Abs32Lo,
            2 => Self::Abs32Hi,
            3 => Self::Abs64,
            4 => Self::Rel32,
            5 => Self::Rel64,
            6 => Self::Abs32,
            10 => Self::Rel32Lo,
            11 => Self::Rel32Hi,
            13 => Self::Relative64,
            _ => return None,
        })
    }

    /// Size of the value in bytes.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::Abs64 | Self::Rel64 | Self::Relative64 => 8,
            _ => 4,
        }
    }
}

impl Relocation {
    /// Its value, of which the first [bytes](RelocationKind::size) count, in a program that is loaded at `base`.
    /// `target` is the address of its symbol there, 0 without one.
    #[must_use]
    pub fn value(&self, base: u64, target: u64) -> u64 {
        let absolute = target.wrapping_add_signed(self.addend);
        let place = base.wrapping_add(self.address);
        match self.kind {
            RelocationKind::Abs32Lo | RelocationKind::Abs32 | RelocationKind::Abs64 => absolute,
            RelocationKind::Abs32Hi => absolute >> 32,
            RelocationKind::Rel32 | RelocationKind::Rel64 | RelocationKind::Rel32Lo => {
                absolute.wrapping_sub(place)
            }
            RelocationKind::Rel32Hi => absolute.wrapping_sub(place) >> 32,
            RelocationKind::Relative64 => base.wrapping_add_signed(self.addend),
        }
    }
}

/// Why a code object cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It is not ELF, or its parts are not where it says.
    #[error("it is no valid ELF file: {0}")]
    Elf(#[from] object::Error),
    /// It is for another kind of machine.
    #[error("it is no code object: machine {machine}, type {kind}, system {system}")]
    NotCodeObject {
        /// The machine's number.
        machine: u16,
        /// The file's type.
        kind: u16,
        /// The operating system's number.
        system: u8,
    },
    /// Its ABI is not supported.
    #[error("version {0} of its ABI is not supported: code objects of version 3 to 6 are")]
    Abi(u8),
    /// Its processor is unknown.
    #[error("its flags, {0:#x}, name no known processor")]
    Processor(u32),
    /// A segment is invalid.
    #[error("segment {address:#x} {what}")]
    Segment {
        /// Its address.
        address: u64,
        /// The problem.
        what: &'static str,
    },
    /// There is nothing to load.
    #[error("it has no segments")]
    Empty,
    /// There are too many parts.
    #[error("it has more than {limit} {what}")]
    TooMany {
        /// The plural noun for them.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A relocation is invalid.
    #[error("relocation of {address:#x}, type {kind}: {what}")]
    Relocation {
        /// Where it writes.
        address: u64,
        /// Its type.
        kind: u32,
        /// The problem.
        what: &'static str,
    },
    /// A symbol is invalid.
    #[error("symbol {name:?} {what}")]
    Symbol {
        /// Its name.
        name: String,
        /// The problem.
        what: &'static str,
    },
}

impl<'b> Program<'b> {
    /// Reads a code object.
    ///
    /// # Errors
    /// It is invalid, or for another machine.
    pub fn read(bytes: &'b [u8]) -> Result<Self, ProgramError> {
        let file = Elf::parse(bytes)?;
        let target = target(&file)?;
        let segments = segments(&file, bytes)?;
        let mut program = Self {
            target,
            symbols: symbols(&file, bytes, &segments)?,
            functions: functions(&file, bytes, &segments)?,
            relocations: Vec::new(),
            segments,
        };
        program.relocations = relocations(&file, bytes, &program)?;
        Ok(program)
    }

    /// The range of addresses that it takes: the first one, and the number of bytes.
    #[must_use]
    pub fn span(&self) -> (u64, u64) {
        let start = self.segments.first().map_or(0, |first| first.address);
        let end = self
            .segments
            .last()
            .map_or(0, |last| last.address + last.size);
        (start, end - start)
    }

    /// The segment that contains a range.
    #[must_use]
    pub fn segment(&self, address: u64, size: u64) -> Option<&Segment<'b>> {
        find(&self.segments, address, size)
    }

    /// The descriptor at the address of a kernel's symbol; none if the file has not all of it.
    #[must_use]
    pub fn descriptor(&self, address: u64) -> Option<&'b [u8; DESCRIPTOR]> {
        let segment = self.segment(address, DESCRIPTOR as u64)?;
        let bytes = segment.bytes.get((address - segment.address) as usize..)?;
        bytes.first_chunk()
    }
}

fn find<'s, 'b>(segments: &'s [Segment<'b>], address: u64, size: u64) -> Option<&'s Segment<'b>> {
    let at = segments.partition_point(|segment| segment.address <= address);
    let segment = segments.get(at.checked_sub(1)?)?;
    let end = (address - segment.address).checked_add(size)?;
    (end <= segment.size).then_some(segment)
}

fn target(file: &Elf<'_>) -> Result<AmdTarget, ProgramError> {
    let (header, endian) = (file.elf_header(), file.endian());
    let (machine, kind) = (header.e_machine(endian).0, header.e_type(endian).0);
    let ident = header.e_ident();
    let system = ident.os_abi.0;
    if machine != EM_AMDGPU || kind != elf::ET_DYN.0 || system != ELFOSABI_AMDGPU_HSA {
        return Err(ProgramError::NotCodeObject {
            machine,
            kind,
            system,
        });
    }
    if !ABI_VERSIONS.contains(&ident.abi_version) {
        return Err(ProgramError::Abi(ident.abi_version));
    }
    let flags = header.e_flags(endian).0;
    flags::of_any_version(ident.abi_version, flags).ok_or(ProgramError::Processor(flags))
}

fn segments<'b>(file: &Elf<'b>, bytes: &'b [u8]) -> Result<Vec<Segment<'b>>, ProgramError> {
    let endian = file.endian();
    let mut segments = Vec::new();
    for header in file.elf_program_headers() {
        if header.p_type(endian) != elf::PT_LOAD || header.p_memsz(endian) == 0 {
            continue;
        }
        let (address, size) = (header.p_vaddr(endian), header.p_memsz(endian));
        let wrong = |what| ProgramError::Segment { address, what };
        let found = header.data(endian, bytes);
        let found = found.map_err(|()| wrong("is not in the file"))?;
        if found.len() as u64 > size {
            return Err(wrong("is larger in the file than in memory"));
        }
        if address.checked_add(size).is_none() {
            return Err(wrong("reaches behind the last address"));
        }
        let flags = header.p_flags(endian);
        segments.push(Segment {
            address,
            size,
            bytes: found,
            is_writable: flags.contains(elf::PF_W),
            is_executable: flags.contains(elf::PF_X),
        });
        if segments.len() > MAX_SEGMENTS {
            return Err(ProgramError::TooMany {
                what: "segments",
                limit: MAX_SEGMENTS,
            });
        }
    }
    if segments.is_empty() {
        return Err(ProgramError::Empty);
    }
    segments.sort_by_key(|segment| segment.address);
    let mut pairs = segments.windows(2);
    if let Some(pair) = pairs.find(|pair| pair[1].address - pair[0].address < pair[0].size) {
        return Err(ProgramError::Segment {
            address: pair[1].address,
            what: "overlaps another one",
        });
    }
    Ok(segments)
}

/// The names and symbols of a table.
fn table<'b>(
    file: &Elf<'b>,
    bytes: &'b [u8],
    kind: elf::SectionType,
) -> Result<object::read::elf::SymbolTable<'b, elf::FileHeader64<LittleEndian>>, ProgramError> {
    let table = file
        .elf_section_table()
        .symbols(file.endian(), bytes, kind)?;
    if table.len() > MAX_SYMBOLS {
        return Err(ProgramError::TooMany {
            what: "symbols",
            limit: MAX_SYMBOLS,
        });
    }
    Ok(table)
}

fn symbols<'b>(
    file: &Elf<'b>,
    bytes: &'b [u8],
    segments: &[Segment<'b>],
) -> Result<Vec<Symbol<'b>>, ProgramError> {
    let (endian, table) = (file.endian(), table(file, bytes, elf::SHT_DYNSYM)?);
    let mut symbols = Vec::with_capacity(table.len());
    for raw in table.iter() {
        let name = raw.name(endian, table.strings())?;
        let wrong = |what| ProgramError::Symbol {
            name: String::from_utf8_lossy(name).into_owned(),
            what,
        };
        let name = std::str::from_utf8(name).map_err(|_| wrong("has no valid name"))?;
        let (address, size) = (raw.st_value(endian), raw.st_size(endian));
        let is_defined = raw.st_shndx(endian) != elf::SHN_UNDEF;
        let kind = match raw.st_type() {
            elf::STT_OBJECT if name.ends_with(".kd") && size == DESCRIPTOR as u64 => {
                SymbolKind::Kernel
            }
            elf::STT_OBJECT => SymbolKind::Variable,
            elf::STT_FUNC => SymbolKind::Function,
            _ => SymbolKind::Other,
        };
        let is_data = matches!(kind, SymbolKind::Kernel | SymbolKind::Variable);
        if is_defined && is_data && find(segments, address, size).is_none() {
            return Err(wrong("is in no segment"));
        }
        symbols.push(Symbol {
            name,
            address,
            size,
            kind,
            is_defined,
            is_weak: raw.st_bind() == elf::STB_WEAK,
            is_local: raw.st_bind() == elf::STB_LOCAL,
        });
    }
    Ok(symbols)
}

fn functions<'b>(
    file: &Elf<'b>,
    bytes: &'b [u8],
    segments: &[Segment<'b>],
) -> Result<Vec<(u64, &'b str)>, ProgramError> {
    let endian = file.endian();
    let mut functions = Vec::new();
    for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
        let table = table(file, bytes, kind)?;
        for raw in table.iter() {
            let address = raw.st_value(endian);
            let is_there = find(segments, address, 1).is_some_and(|s| s.is_executable);
            if raw.st_type() != elf::STT_FUNC || !is_there {
                continue;
            }
            // Only reports show these names.
            let name = raw.name(endian, table.strings()).unwrap_or_default();
            if let Ok(name) = std::str::from_utf8(name) {
                functions.push((address, name));
            }
        }
    }
    functions.sort_unstable();
    functions.dedup_by_key(|&mut (address, _)| address);
    Ok(functions)
}

fn relocations(
    file: &Elf<'_>,
    bytes: &[u8],
    program: &Program<'_>,
) -> Result<Vec<Relocation>, ProgramError> {
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let mut relocations = Vec::new();
    for section in sections.iter() {
        let Some((entries, link)) = section.rela(endian, bytes)? else {
            continue;
        };
        // Others are left from before linking.
        let is_dynamic =
            link == SectionIndex(0) || sections.section(link)?.sh_type(endian) == elf::SHT_DYNSYM;
        if !is_dynamic {
            continue;
        }
        relocations.reserve(entries.len());
        for entry in entries {
            let address = entry.r_offset.get(endian);
            let (kind, symbol) = (entry.r_type(endian, false), entry.r_sym(endian, false));
            let wrong = |what| ProgramError::Relocation {
                address,
                kind: kind.0,
                what,
            };
            if kind.0 == 0 {
                continue;
            }
            let of = RelocationKind::of(kind).ok_or_else(|| wrong("it is not known"))?;
            if program.segment(address, of.size()).is_none() {
                return Err(wrong("it is in no segment"));
            }
            let symbol = SymbolIndex(symbol as usize).0;
            if symbol != 0 && symbol >= program.symbols.len() {
                return Err(wrong("its symbol does not exist"));
            }
            relocations.push(Relocation {
                address,
                kind: of,
                symbol,
                addend: entry.r_addend.get(endian),
            });
        }
    }
    Ok(relocations)
}
