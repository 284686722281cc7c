//! A compiler's code objects: their segments in memory of the stand-in's GPU, relocated as by
//! ROCr's loader, so that tables and variables have the values they have on a GPU. Their
//! instructions are never run ([`simulated`](crate::simulated)).
//!
//! Source: LLVM, "User Guide for AMDGPU Backend": relocation records, code object V3 kernel
//! descriptor, ELF header flags.

use std::sync::Arc;

use host_rt::device::{Device, DeviceAddr, Fill, Global};
use object::elf::RelocationType;
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    Endianness, Object, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationFlags,
    RelocationTarget, SymbolKind,
};

use crate::image::FLAGS;

/// The machine in the flags of a file, and that of this GPU.
const MACHINE_MASK: u32 = 0xff;
const MACHINE: u32 = FLAGS & MACHINE_MASK;

/// The granularity of distances between segments on a GPU: whole pages.
const PAGE: u64 = 4096;

/// An address in the file and the sum of symbol and addend, relocated.
const ABS64: RelocationType = RelocationType(3);
const RELATIVE64: RelocationType = RelocationType(13);

/// Bytes of a kernel's descriptor.
pub(crate) const DESCRIPTOR: u64 = 64;

/// The reason why a code object is not loaded.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It is for another GPU.
    Machine(String),
    /// It is invalid.
    Broken(String),
}

/// A code object in the memory of a GPU.
pub(crate) struct Placed {
    device: Arc<dyn Device>,
    /// The allocated memory.
    block: DeviceAddr,
    /// Starts and sizes.
    pub(crate) segments: Vec<(u64, u64)>,
    variables: Vec<(String, Global)>,
    pub(crate) kernels: Vec<Descriptor>,
}

/// The contents of a kernel's descriptor. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// The kernel's name; its symbol is that with `.kd`.
    pub(crate) name: String,
    pub(crate) group: u32,
    pub(crate) private: u32,
    pub(crate) kernarg: u32,
}

impl Drop for Placed {
    fn drop(&mut self) {
        self.device.free(self.block);
    }
}

type Elf<'b> = ElfFile64<'b, Endianness>;

impl Placed {
    /// Puts the code object into memory of `device`.
    pub(crate) fn new(device: &Arc<dyn Device>, bytes: &[u8]) -> Result<Self, Refused> {
        let file = Elf::parse(bytes);
        let file = file.map_err(|error| Refused::Broken(error.to_string()))?;
        let flags = file.elf_header().e_flags(file.endian()).0;
        let machine = flags & MACHINE_MASK;
        if machine != MACHINE {
            return Err(Refused::Machine(format!(
                "its flags have machine {machine:#x}, this GPU is {MACHINE:#x}"
            )));
        }
        Self::place(device, &file).map_err(Refused::Broken)
    }

    fn place(device: &Arc<dyn Device>, file: &Elf<'_>) -> Result<Self, String> {
        let ends = file.segments().map(|s| s.address().checked_add(s.size()));
        let ends: Option<Vec<u64>> = ends.collect();
        let ends = ends.ok_or("a segment reaches behind the last address")?;
        let end = ends.into_iter().max().ok_or("it has no segments")?;
        // The block may begin within a page, and all addresses must be in range.
        let size = end.checked_add(PAGE).ok_or("its segments have no end")?;
        let block = device.alloc(size, Fill::Zeros).map_err(|e| e.to_string())?;
        let base = block.0.next_multiple_of(PAGE);
        let mut placed = Self {
            device: Arc::clone(device),
            block,
            segments: Vec::new(),
            variables: Vec::new(),
            kernels: Vec::new(),
        };
        for segment in file.segments() {
            let bytes = segment.data().map_err(|error| error.to_string())?;
            if bytes.len() as u64 > segment.size() {
                return Err("a segment is larger in the file than in memory".to_owned());
            }
            let at = base + segment.address();
            // SAFETY: addresses of the `host` device are addresses here; the block extends past the
            // last segment, whose end is in range, so it contains all of this one; it is not shared
            // yet.
            unsafe { (at as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            placed.segments.push((at, segment.size()));
        }
        placed.relocate(file, base)?;
        for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
            let name = symbol.name().map_err(|error| error.to_string())?;
            if let Some(kernel) = name.strip_suffix(".kd") {
                let descriptor = descriptor(file, symbol.address());
                let [group, private, kernarg] =
                    descriptor.ok_or_else(|| format!("`{name}` is in no segment"))?;
                placed.kernels.push(Descriptor {
                    name: kernel.to_owned(),
                    group,
                    private,
                    kernarg,
                });
            } else if symbol.kind() == SymbolKind::Data {
                let size = symbol.size();
                let address = placed.inside(base, symbol.address(), size);
                let address = address.ok_or_else(|| format!("`{name}` is in no segment"))?;
                let address = DeviceAddr(address);
                let global = Global { address, size };
                placed.variables.push((name.to_owned(), global));
            }
        }
        Ok(placed)
    }

    fn relocate(&self, file: &Elf<'_>, base: u64) -> Result<(), String> {
        let symbols = file.dynamic_symbol_table();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err("a relocation is none of ELF's".to_owned());
            };
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let table = symbols.as_ref().ok_or("it has no symbols")?;
                    let symbol = table.symbol_by_index(index).map_err(|e| e.to_string())?;
                    symbol.address()
                }
                _ => 0,
            };
            let value = match r_type {
                RELATIVE64 => base.wrapping_add_signed(relocation.addend()),
                ABS64 => base
                    .wrapping_add(symbol)
                    .wrapping_add_signed(relocation.addend()),
                other => return Err(format!("relocation {} is not known here", other.0)),
            };
            let to = self.inside(base, at, 8);
            let to =
                to.ok_or_else(|| format!("a relocation of {at:#x}, which is in no segment"))?;
            // SAFETY: within a segment, which is not shared yet.
            unsafe { (to as *mut u64).write_unaligned(value) };
        }
        Ok(())
    }

    /// The address of `size` bytes at that address of the file, if all of them are in a segment.
    fn inside(&self, base: u64, address: u64, size: u64) -> Option<u64> {
        let start = base.checked_add(address)?;
        let end = start.checked_add(size)?;
        let mut segments = self.segments.iter();
        let is_there = segments.any(|&(from, size)| start >= from && end <= from + size);
        is_there.then_some(start)
    }

    /// An exported variable.
    pub(crate) fn variable(&self, name: &str) -> Option<Global> {
        let mut variables = self.variables.iter();
        let (_, global) = variables.find(|(known, _)| known == name)?;
        Some(*global)
    }
}

/// The first three words of the descriptor at `address`: bytes of a team's memory, of a thread's,
/// and of arguments.
fn descriptor(file: &Elf<'_>, address: u64) -> Option<[u32; 3]> {
    let bytes = file
        .segments()
        .find_map(|segment| segment.data_range(address, DESCRIPTOR).ok().flatten())?;
    let word = |index: usize| {
        let bytes = bytes[4 * index..][..4].try_into();
        u32::from_le_bytes(bytes.expect("four bytes"))
    };
    Some([word(0), word(1), word(2)])
}

#[cfg(test)]
mod tests {
    use host_rt::device;
    use host_rt::env::Env;
    use host_rt::ranges::AddrRange;

    use super::*;
    use crate::tests::exports;

    /// Offsets in a file: its flags, the address and the size of its first segment, and the kind of
    /// its second.
    const FLAGS_AT: usize = 48;
    const ADDRESS: usize = 64 + 16;
    const SIZE: usize = 64 + 40;
    const SECOND: usize = 64 + 56;

    #[test]
    fn what_is_in_the_file_is_in_memory() {
        let env = Env::read().expect("an environment");
        let device = device::open("host", &env).expect("a device");
        let placed = Placed::new(&device, &exports()).expect("a code object");
        let number = placed.variable("number").expect("exported");
        assert_eq!(number.size, 4);
        // SAFETY: four bytes at an address of this process, aligned by the writer.
        assert_eq!(unsafe { *(number.address.0 as *const u32) }, 0x0102_0304);
        let room = placed.variable("room").expect("exported");
        let is_inside = |&(start, size): &(u64, u64)| {
            AddrRange::new(start, size).is_some_and(|all| all.has(room.address, room.size))
        };
        assert!(placed.segments.iter().any(is_inside));
        let descriptor = Descriptor {
            name: "scale".to_owned(),
            group: 0x201,
            private: 3,
            kernarg: 56,
        };
        assert_eq!(placed.kernels, [descriptor]);
        assert!(placed.variable("scale.kd").is_none());
    }

    #[test]
    fn what_is_for_another_gpu_or_broken_is_refused() {
        let env = Env::read().expect("an environment");
        let device = device::open("host", &env).expect("a device");
        let mut other = exports();
        other[FLAGS_AT] = 0x2c;
        let refused = Placed::new(&device, &other).err();
        assert!(matches!(refused, Some(Refused::Machine(text)) if text.contains("0x2c")));
        let all = exports();
        for bytes in [&all[..all.len() / 2], &all[..8], b""] {
            let refused = Placed::new(&device, bytes).err();
            assert!(matches!(refused, Some(Refused::Broken(_))));
        }
    }
    #[test]
    fn what_lies_behind_the_last_address_is_refused() {
        let env = Env::read().expect("an environment");
        let device = device::open("host", &env).expect("a device");
        for at in [ADDRESS, SIZE] {
            let mut bytes = exports();
            bytes[at..][..8].copy_from_slice(&(u64::MAX - 8).to_le_bytes());
            // A valid one does not make up for it.
            bytes[SECOND] = 1;
            let refused = Placed::new(&device, &bytes).err();
            assert!(
                matches!(refused, Some(Refused::Broken(text)) if text.contains("last address"))
            );
        }
    }
}
