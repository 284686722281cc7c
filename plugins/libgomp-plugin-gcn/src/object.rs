//! What stands in an image of GCC's for AMD GPUs: how long its tables are, and what its kernels
//! take.

use std::collections::HashMap;

use object::{Object, ObjectSection, ObjectSymbol};
use targets::code_object;

/// A word for each function of the host's table, in the order of it: its address.
pub(crate) const FUNCTION_TABLE: &str = ".offload_func_table";

/// Address and size of each variable of the host's table, in the order of it.
pub(crate) const VARIABLE_TABLE: &str = ".offload_var_table";

/// Addresses of the functions that are called through pointers.
pub(crate) const INDIRECT_TABLE: &str = ".offload_ind_func_table";

/// Bytes of arguments that GCC's kernels name: the pointer to the region's variables.
const POINTER: u32 = 8;

/// An image, as it stands in the program.
pub(crate) struct CodeObject<'b> {
    file: object::File<'b>,
    kernels: HashMap<String, KernelUse>,
}

/// What a kernel uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelUse {
    /// Vector registers of a lane; 0 where nobody says.
    pub(crate) vgprs: u32,
    /// Bytes of a team's own memory.
    pub(crate) group: u32,
}

impl<'b> CodeObject<'b> {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, or none of GCC's: in words.
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Self, String> {
        let file = object::File::parse(bytes).map_err(|error| format!("broken ELF: {error}"))?;
        let said = code_object::read(bytes)?;
        let mut kernels = HashMap::new();
        for kernel in said.kernels {
            if kernel.kernarg_size > POINTER {
                return Err(format!(
                    "kernel `{}` takes {} bytes of arguments, those of GCC 13 to 16 take \
                     {POINTER}: the program was built by a newer GCC",
                    kernel.name, kernel.kernarg_size
                ));
            }
            let uses = KernelUse {
                vgprs: kernel.vgprs,
                group: kernel.group,
            };
            kernels.insert(kernel.name, uses);
        }
        Ok(Self { file, kernels })
    }

    /// What a kernel uses; `None` if there is none of that name.
    pub(crate) fn kernel(&self, name: &str) -> Option<KernelUse> {
        self.kernels.get(name).copied()
    }

    /// What all its kernels use, by name.
    pub(crate) fn into_kernels(self) -> HashMap<String, KernelUse> {
        self.kernels
    }

    /// Checks that the table at `symbol` has room for `count` entries of `words` words each. The
    /// symbol has no size, but the table has a section to itself.
    ///
    /// # Errors
    /// It has less.
    pub(crate) fn check_table(
        &self,
        symbol: &str,
        count: usize,
        words: usize,
    ) -> Result<(), String> {
        let wanted = count as u64 * words as u64 * size_of::<u64>() as u64;
        let mut symbols = self.file.dynamic_symbols();
        let found = symbols.find(|known| known.name() == Ok(symbol));
        let found = found.ok_or_else(|| format!("no `{symbol}`, expected {wanted} bytes"))?;
        let section = found.section_index();
        let section = section.and_then(|index| self.file.section_by_index(index).ok());
        let end = section.map(|section| section.address().saturating_add(section.size()));
        let bytes = end.and_then(|end| end.checked_sub(found.address()));
        let bytes =
            bytes.ok_or_else(|| format!("`{symbol}` is in no section, expected {wanted} bytes"))?;
        if bytes < wanted {
            return Err(format!(
                "`{symbol}` has {bytes} bytes, expected {wanted}, {count} entries of {words} words"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    fn halves(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// A note that says of a kernel how many bytes of arguments it takes.
    fn note(kernel: &str, kernarg: u8) -> Vec<u8> {
        let text = |text: &str| {
            let mut bytes = vec![0xa0 + text.len() as u8];
            bytes.extend(text.bytes());
            bytes
        };
        // MessagePack: short maps and lists, and numbers below 128.
        let mut said = vec![0x81];
        said.extend(text("amdhsa.kernels"));
        said.extend([0x91, 0x84]);
        said.extend(text(".name"));
        said.extend(text(kernel));
        said.extend(text(".kernarg_segment_size"));
        said.push(kernarg);
        said.extend(text(".vgpr_count"));
        said.push(24);
        said.extend(text(".group_segment_fixed_size"));
        said.push(48);
        let mut note = halves(&[7, said.len() as u32, 32]);
        note.extend(b"AMDGPU\0\0");
        note.extend(said);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    /// A code object as GCC makes them: a note for each kernel, and the functions' table, which
    /// has a section of `table` bytes and a symbol without a size.
    fn code_object(kernels: &[(&str, u8)], table: u64) -> Vec<u8> {
        const HEADERS: u64 = 64 + 56;
        // Each part is aligned to words.
        let padded = |mut bytes: Vec<u8>| {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        };
        let notes = kernels.iter().flat_map(|&(kernel, n)| note(kernel, n));
        let notes = padded(notes.collect());
        let names = padded(format!("\0{FUNCTION_TABLE}\0").into_bytes());
        let strings = HEADERS + notes.len() as u64;
        let symbols = strings + names.len() as u64;
        let data = symbols + 2 * 24;
        let sections = data + table;

        let mut file = b"\x7fELF\x02\x01\x01\x40\x02\0\0\0\0\0\0\0".to_vec();
        // A shared object for a gfx90a, with a segment and four sections.
        file.extend(halves(&[3 | 224 << 16, 1]));
        file.extend(words(&[0, 64, sections]));
        file.extend(halves(&[0x3f, 64 | 56 << 16, 1 | 64 << 16, 4 | 1 << 16]));
        file.extend(halves(&[4, 4]));
        file.extend(words(&[HEADERS, HEADERS, HEADERS]));
        file.extend(words(&[notes.len() as u64, notes.len() as u64, 4]));
        file.extend(&notes);
        file.extend(&names);
        // None, and an object that all see, in the section of the table.
        file.extend([0; 24]);
        file.extend(halves(&[1, 0x11 | 3 << 16]));
        file.extend(words(&[data, 0]));
        file.resize(sections as usize, 0);
        let mut section = |kind: u32, at: u64, size: u64, link: u32, entry: u64| {
            file.extend(halves(&[0, kind]));
            file.extend(words(&[2, at, at, size]));
            file.extend(halves(&[link, 1]));
            file.extend(words(&[1, entry]));
        };
        section(0, 0, 0, 0, 0);
        section(3, strings, names.len() as u64, 0, 0);
        section(11, symbols, 48, 1, 24);
        section(1, data, table, 0, 0);
        file
    }

    #[test]
    fn kernels_of_all_notes_are_known() {
        let bytes = code_object(&[("_init_array", 0), ("main._omp_fn.0", 8)], 16);
        let object = CodeObject::read(&bytes).unwrap();
        let uses = KernelUse {
            vgprs: 24,
            group: 48,
        };
        assert_eq!(object.kernel("main._omp_fn.0"), Some(uses));
        assert_eq!(object.kernel("main._omp_fn.1.nohost.0"), None);
        assert_eq!(object.into_kernels().len(), 2);
    }

    #[test]
    fn arguments_that_gcc_does_not_have_are_refused() {
        let bytes = code_object(&[("main._omp_fn.0", 16)], 16);
        let Err(error) = CodeObject::read(&bytes) else {
            panic!("16 bytes are too many");
        };
        for text in ["`main._omp_fn.0`", "16 bytes", "take 8"] {
            assert!(error.contains(text), "{error}");
        }
        assert!(CodeObject::read(b"\x7fELF").is_err());
    }

    #[test]
    fn tables_are_as_long_as_their_sections() {
        let bytes = code_object(&[("main._omp_fn.0", 8)], 32);
        let object = CodeObject::read(&bytes).unwrap();
        assert_eq!(object.check_table(FUNCTION_TABLE, 4, 1), Ok(()));
        assert_eq!(object.check_table(FUNCTION_TABLE, 2, 2), Ok(()));
        let error = object.check_table(FUNCTION_TABLE, 5, 1).unwrap_err();
        assert!(
            error.contains("has 32 bytes, expected 40"),
            "{FUNCTION_TABLE}: {error}"
        );
        let error = object.check_table(VARIABLE_TABLE, 1, 2).unwrap_err();
        assert!(error.contains("no `.offload_var_table`"), "{error}");
    }

    #[test]
    fn a_table_in_no_section_is_refused() {
        const SHN_ABS: u16 = 0xfff1;
        let bytes = code_object(&[("main._omp_fn.0", 8)], 32);
        // The symbol's address, in front of which its section is.
        let table = (bytes.len() - 4 * 64 - 32) as u64;
        let is_there = |at: &usize| bytes[*at..].starts_with(&words(&[table, 0]));
        let symbol = (0..bytes.len()).find(is_there).unwrap() - 2;
        for section in [SHN_ABS, 9] {
            let mut bytes = bytes.clone();
            bytes[symbol..symbol + 2].copy_from_slice(&section.to_le_bytes());
            let object = CodeObject::read(&bytes).unwrap();
            let error = object.check_table(FUNCTION_TABLE, 4, 1).unwrap_err();
            let texts = ["`.offload_func_table`", "no section", "32 bytes"];
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
    }
}
