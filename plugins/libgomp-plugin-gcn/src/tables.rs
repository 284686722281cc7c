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
    use test_elf::{File, Symbol};

    use super::*;

    /// The address of the functions' table.
    const ADDRESS: u64 = 0x1230;

    /// A code object in GCC's form: the functions' table has a section of `table` bytes and a
    /// symbol without a size.
    fn code_object(table: usize) -> Vec<u8> {
        let symbol = Symbol {
            name: FUNCTION_TABLE,
            info: 0x11,
            other: 3,
            value: ADDRESS,
            size: 0,
        };
        let file = File {
            address: ADDRESS,
            data: &vec![0; table],
            symbols: &[symbol],
            ..File::code_object(2)
        };
        file.write()
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
        // The symbol's address and size, just after its section.
        let value = [ADDRESS.to_le_bytes(), [0; 8]].concat();
        let mut places = bytes.windows(value.len());
        let symbol = places.position(|bytes| bytes == value).unwrap() - 2;
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
