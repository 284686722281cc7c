//! Writes small ELF files for tests: 64-bit, little-endian, with one segment of data, one of notes,
//! and a table of symbols. Tests of invalid files change the bytes.
//!
//! Source: the ELF-64 object file format; for code objects LLVM's "User Guide for AMDGPU Backend".

/// Type of an object file.
pub const OBJECT: u16 = 1;
/// Type of an executable.
pub const EXECUTABLE: u16 = 2;
/// Type of a shared object, whose symbols are dynamic.
pub const SHARED: u16 = 3;
/// Machine of images for NVIDIA GPUs.
pub const CUDA: u16 = 190;
/// Machine of images for AMD GPUs.
pub const AMDGPU: u16 = 224;
/// The number of the section of data, in which the symbols are.
pub const DATA_SECTION: u16 = 1;

const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
const SYMBOL: usize = 24;

/// The contents of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct File<'a> {
    /// The type of file.
    pub kind: u16,
    /// The machine.
    pub machine: u16,
    /// The system's interface, and its version.
    pub abi: [u8; 2],
    /// The machine's flags.
    pub flags: u32,
    /// The address of the data.
    pub address: u64,
    /// The data.
    pub data: &'a [u8],
    /// Zeros in memory after the data, in bytes.
    pub zeros: u64,
    /// Notes, made by [`note`].
    pub notes: &'a [u8],
    /// The symbols, without the first one, which is null.
    pub symbols: &'a [Symbol<'a>],
}

/// A symbol in the section of data.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// Binding and type: 0x12 a global function, 0x11 a global variable, 0x02 a local function.
    pub info: u8,
    /// Visibility, and bits of the machine.
    pub other: u8,
    /// Its address; in files other than shared objects an offset in the section.
    pub value: u64,
    /// Its size, in bytes.
    pub size: u64,
}

impl File<'_> {
    /// An empty code object, which is an image for AMD GPUs, of version `abi`.
    #[must_use]
    pub fn code_object(abi: u8) -> Self {
        Self {
            kind: SHARED,
            machine: AMDGPU,
            abi: [64, abi],
            ..Self::default()
        }
    }

    /// The file's bytes: header, segments, notes, data, symbols, their names, sections. The first
    /// segment and the first section after the null one are the data's.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let (mut names, mut table) = (vec![0], Bytes(vec![0; SYMBOL]));
        for symbol in self.symbols {
            table.u32(names.len() as u32);
            table.0.extend([symbol.info, symbol.other]);
            table.u16(&[DATA_SECTION]).u64(&[symbol.value, symbol.size]);
            names.extend(symbol.name.bytes().chain([0]));
        }
        let mut end = HEADER + 2 * SEGMENT;
        let [notes, data, table, names] = [self.notes, self.data, &table.0, &names].map(|bytes| {
            let at = end.next_multiple_of(8);
            end = at + bytes.len();
            (at, bytes)
        });
        let sections = end.next_multiple_of(8);

        let mut file = Bytes(b"\x7fELF\x02\x01\x01".to_vec());
        file.0.extend(self.abi);
        file.0.resize(16, 0);
        file.u16(&[self.kind, self.machine, 1, 0]);
        file.u64(&[0, HEADER as u64, sections as u64]);
        file.u32(self.flags);
        let sizes = [HEADER, SEGMENT, 2, SECTION, 4, 3];
        file.u16(&sizes.map(|size| size as u16));
        for (kind, (at, bytes), address, zeros) in
            [(1, data, self.address, self.zeros), (4, notes, 0, 0)]
        {
            let size = bytes.len() as u64;
            file.u32(kind).u32(6);
            file.u64(&[at as u64, address, address, size, size + zeros, 4]);
        }
        for (at, bytes) in [notes, data, table, names] {
            file.0.resize(at, 0);
            file.0.extend(bytes);
        }
        file.0.resize(sections + SECTION, 0);
        let is_shared = self.kind == SHARED;
        let address = if is_shared { self.address } else { 0 };
        let symbols = if is_shared { 11 } else { 2 };
        // Without names. The first global symbol is the first one after the null symbol.
        for (kind, (at, bytes), address, link, info, entry) in [
            (1, data, address, 0, 0, 0),
            (symbols, table, 0, 3, 1, SYMBOL),
            (3, names, 0, 0, 0, 0),
        ] {
            file.u32(0).u32(kind);
            file.u64(&[2, address, at as u64, bytes.len() as u64]);
            file.u32(link).u32(info).u64(&[8, entry as u64]);
        }
        file.0
    }
}

/// A note of `kind` with `text`, for [`File::notes`]. `owner` ends with a zero byte.
#[must_use]
pub fn note(owner: &[u8], kind: u32, text: &[u8]) -> Vec<u8> {
    let mut note = Bytes(Vec::new());
    note.u32(owner.len() as u32)
        .u32(text.len() as u32)
        .u32(kind);
    for part in [owner, text] {
        note.0.extend(part);
        note.0.resize(note.0.len().next_multiple_of(4), 0);
    }
    note.0
}

/// A note with `metadata` of a code object, which is MessagePack.
#[must_use]
pub fn metadata_note(metadata: &[u8]) -> Vec<u8> {
    note(b"AMDGPU\0", 32, metadata)
}

/// Numbers in sequence.
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(&mut self, numbers: &[u16]) -> &mut Self {
        self.0.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        self
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u64(&mut self, numbers: &[u64]) -> &mut Self {
        self.0.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        self
    }
}
