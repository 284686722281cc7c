//! The tables in GCC's images for AMD GPUs.

use object::{File, Object, ObjectSection, ObjectSymbol};

use crate::error::Error;

/// A word for each function of the host's table, in its order: the function's address.
pub(crate) const FUNCTION_TABLE: &str = ".offload_func_table";

/// Address and size of each variable of the host's table, in its order; see [`bytes_of`].
pub(crate) const VARIABLE_TABLE: &str = ".offload_var_table";

/// Addresses of the functions that are called through pointers.
pub(crate) const INDIRECT_TABLE: &str = ".offload_ind_func_table";

/// Set in the size of a variable of `declare target link`, in the host's table and in the image's.
const IS_LINK: u64 = 1 << 63;

/// The number of bytes at a variable's address, given the table's `size`. For `declare target link`
/// it is a pointer to the memory to which libgomp maps the variable.
pub(crate) fn bytes_of(size: u64) -> u64 {
    match size & IS_LINK {
        0 => size,
        _ => size_of::<u64>() as u64,
    }
}

/// The tables of an image in the program.
pub(crate) struct Tables<'b>(File<'b>);

impl<'b> Tables<'b> {
    /// The tables of the image `bytes`.
    ///
    /// # Errors
    /// The bytes are not an image.
    pub(crate) fn of(bytes: &'b [u8]) -> Result<Self, Error> {
        Ok(Self(File::parse(bytes)?))
    }

    /// Checks that the table at `symbol` has room for `count` entries of `words` words each. The
    /// symbol has no size, but the table has a section to itself.
    ///
    /// # Errors
    /// It has no room for them.
    pub(crate) fn check(
        &self,
        symbol: &'static str,
        count: usize,
        words: usize,
    ) -> Result<(), Error> {
        let wanted = count as u64 * words as u64 * size_of::<u64>() as u64;
        let mut symbols = self.0.dynamic_symbols();
        let found = symbols.find(|known| known.name() == Ok(symbol));
        let found = found.ok_or(Error::NoTable { symbol, wanted })?;
        let section = found.section_index();
        let section = section.and_then(|index| self.0.section_by_index(index).ok());
        let end = section.map(|section| section.address().saturating_add(section.size()));
        let bytes = end.and_then(|end| end.checked_sub(found.address()));
        let bytes = bytes.ok_or(Error::NoSection { symbol, wanted })?;
        if bytes < wanted {
            return Err(Error::TableSize {
                symbol,
                bytes,
                wanted,
                count,
                words,
            });
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

    /// A code object in GCC's form: the functions' table has a section of `table` bytes and a
    /// symbol without a size.
    fn code_object(table: u64) -> Vec<u8> {
        const HEADER: u64 = 64;
        // Each part is aligned to words.
        let padded = |mut bytes: Vec<u8>| {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        };
        let names = padded(format!("\0{FUNCTION_TABLE}\0").into_bytes());
        let strings = HEADER;
        let symbols = strings + names.len() as u64;
        let data = symbols + 2 * 24;
        let sections = data + table;

        let mut file = b"\x7fELF\x02\x01\x01\x40\x02\0\0\0\0\0\0\0".to_vec();
        // A shared object for a gfx90a, with four sections.
        file.extend(halves(&[3 | 224 << 16, 1]));
        file.extend(words(&[0, 0, sections]));
        file.extend(halves(&[0x3f, 64, 64 << 16, 4 | 1 << 16]));
        file.extend(&names);
        // A null symbol, and a global object in the section of the table.
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
    fn tables_are_as_long_as_their_sections() {
        let bytes = code_object(32);
        let tables = Tables::of(&bytes).unwrap();
        tables.check(FUNCTION_TABLE, 4, 1).unwrap();
        tables.check(FUNCTION_TABLE, 2, 2).unwrap();
        let error = tables.check(FUNCTION_TABLE, 5, 1).unwrap_err().to_string();
        assert!(
            error.contains("has 32 bytes, expected 40"),
            "{FUNCTION_TABLE}: {error}"
        );
        let error = tables.check(VARIABLE_TABLE, 1, 2).unwrap_err().to_string();
        assert!(error.contains("no `.offload_var_table`"), "{error}");
    }

    #[test]
    fn what_is_linked_is_a_pointer() {
        assert_eq!([0, 4, 1 << 40].map(bytes_of), [0, 4, 1 << 40]);
        assert_eq!([4, 1 << 40].map(|size| bytes_of(IS_LINK | size)), [8, 8]);
    }

    #[test]
    fn a_table_in_no_section_is_refused() {
        const SHN_ABS: u16 = 0xfff1;
        let bytes = code_object(32);
        // The symbol's address, just after its section.
        let table = (bytes.len() - 4 * 64 - 32) as u64;
        let is_there = |at: &usize| bytes[*at..].starts_with(&words(&[table, 0]));
        let symbol = (0..bytes.len()).find(is_there).unwrap() - 2;
        for section in [SHN_ABS, 9] {
            let mut bytes = bytes.clone();
            bytes[symbol..symbol + 2].copy_from_slice(&section.to_le_bytes());
            let tables = Tables::of(&bytes).unwrap();
            let error = tables.check(FUNCTION_TABLE, 4, 1).unwrap_err().to_string();
            let texts = ["`.offload_func_table`", "no section", "32 bytes"];
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
    }
}
