//! The contents of an image, for all formats.

use std::collections::HashMap;

/// The largest variable whose initial bytes are kept. Descriptions are in small ones.
pub(super) const MAX_VALUE: u64 = 64;

/// A symbol that an image exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its address in the image, before loading; 0 in PTX, which has none.
    pub address: u64,
    /// Its size in bytes; 0 if the image does not have it.
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

/// The contents of an image.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// The exported symbols.
    pub(super) symbols: Vec<Symbol>,
    /// The loaded parts.
    pub(super) segments: Vec<Segment>,
    /// Functions that a device can launch, if the format marks them; used if the image declares no
    /// kernels.
    pub(super) entries: Vec<String>,
    /// The sizes of the parameters of such functions, if the code has them.
    pub(super) params: HashMap<String, Vec<u64>>,
    /// Initial bytes of small exported variables, by name.
    pub(super) values: HashMap<String, Vec<u8>>,
}

impl Contents {
    /// The names of exported functions, without the runtime's.
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
