//! What stands in an image, whatever its format.

use std::collections::HashMap;

/// The largest variable whose bytes are kept. What an image says of itself is in
/// small ones.
pub(super) const LARGEST_VALUE: u64 = 64;

/// A symbol that an image exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its address in the image, before loading; 0 in PTX, which has none.
    pub address: u64,
    /// Its size in bytes; 0 where the image does not tell.
    pub size: u64,
    /// Whether it is code.
    pub is_code: bool,
}

/// A part of an image that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its address in the image, before loading.
    pub address: u64,
    /// Its size in memory.
    pub size: u64,
    /// Whether the program may write it.
    pub writable: bool,
    /// Whether the program may run it.
    pub executable: bool,
}

/// What stands in an image.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// The exported symbols.
    pub(super) symbols: Vec<Symbol>,
    /// The loaded parts.
    pub(super) segments: Vec<Segment>,
    /// Functions that a device can launch, as far as the format tells; to be asked
    /// where the image declares no kernels.
    pub(super) entries: Vec<String>,
    /// The sizes of the parameters of functions that a device can launch, as far as the code
    /// says them.
    pub(super) params: HashMap<String, Vec<u64>>,
    /// Initial bytes of small exported variables, by name.
    pub(super) values: HashMap<String, Vec<u8>>,
}

impl Contents {
    /// Those of exported functions that are not the runtime's.
    pub(super) fn functions(symbols: &[Symbol]) -> Vec<String> {
        let functions = symbols.iter().filter(|symbol| symbol.is_code);
        functions
            .map(|symbol| symbol.name.clone())
            .filter(|name| !is_runtime_symbol(name))
            .collect()
    }
}

fn is_runtime_symbol(name: &str) -> bool {
    name.starts_with('_')
        || name.starts_with("revoff_")
        || name.starts_with("GOMP_")
        || name.starts_with("rust_")
}
