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
        match bytes {
            Some(bytes) if bytes < wanted => Err(format!(
                "`{symbol}` has {bytes} bytes, expected {wanted}, {count} entries of {words} words"
            )),
            _ => Ok(()),
        }
    }
}
