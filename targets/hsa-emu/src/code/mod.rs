//! Executables: loaded code, and its symbols.
//!
//! | file | job |
//! |---|---|
//! | `load` | a code object in the memory of a GPU |
//! | `symbol` | symbols of executables |

mod load;
mod symbol;

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::sync::Arc;

use emu_driver::process::handle;
use hsa_runtime_sys::*;

pub(crate) use self::load::Loaded;
use self::load::load;
pub(crate) use self::symbol::{Symbol, SymbolTarget};
use crate::gpu::Gpu;
use crate::status::{Answer, Status};

/// Origin of a code object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// The program's memory.
    Memory { address: usize },
    /// A file.
    File { descriptor: c_int },
}

/// The bytes of a code object.
#[derive(Clone, Debug)]
pub(crate) struct CodeObject {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) source: Source,
}

/// An executable.
pub(crate) struct Executable {
    pub(crate) handle: u64,
    pub(crate) profile: hsa_profile_t,
    pub(crate) rounding: hsa_default_float_rounding_mode_t,
    pub(crate) is_frozen: bool,
    pub(crate) loaded: Vec<Arc<Loaded>>,
    /// Symbols by handle; handles increase in the order of loading.
    pub(crate) symbols: BTreeMap<u64, Symbol>,
    /// Addresses of variables that the program defines, for one GPU or all.
    defined: HashMap<(Option<u64>, String), u64>,
}

impl Executable {
    pub(crate) fn new(
        profile: hsa_profile_t,
        rounding: hsa_default_float_rounding_mode_t,
        is_frozen: bool,
    ) -> Self {
        Self {
            handle: handle(),
            profile,
            rounding,
            is_frozen,
            loaded: Vec::new(),
            symbols: BTreeMap::new(),
            defined: HashMap::new(),
        }
    }

    fn check_unfrozen(&self) -> Answer {
        match self.is_frozen {
            true => Err(Status::FROZEN_EXECUTABLE),
            false => Ok(()),
        }
    }

    /// Loads a code object on a GPU; returns the handle of the loaded code object.
    pub(crate) fn load(&mut self, gpu: &Arc<Gpu>, code: &CodeObject) -> Answer<u64> {
        self.check_unfrozen()?;
        let agent = gpu.agent().handle;
        let defined = |name: &str| {
            let for_one = self.defined.get(&(Some(agent), name.to_owned()));
            let for_all = || self.defined.get(&(None, name.to_owned()));
            for_one.or_else(for_all).copied()
        };
        let (loaded, symbols) = load(gpu, code, defined)?;
        // Nothing fails from here on.
        let handle = loaded.handle;
        self.loaded.push(Arc::new(loaded));
        let symbols = symbols.into_iter();
        self.symbols
            .extend(symbols.map(|symbol| (symbol.handle, symbol)));
        Ok(handle)
    }

    /// Defines a variable for one GPU or all.
    pub(crate) fn define(&mut self, agent: Option<u64>, name: &str, address: u64) -> Answer {
        self.check_unfrozen()?;
        let key = (agent, name.to_owned());
        if self.defined.contains_key(&key) {
            return Err(Status::VARIABLE_ALREADY_DEFINED);
        }
        self.defined.insert(key, address);
        Ok(())
    }

    /// Ends loading. Kernels cannot be launched before.
    pub(crate) fn freeze(&mut self) -> Answer {
        self.check_unfrozen()?;
        self.is_frozen = true;
        self.loaded.iter().for_each(|loaded| loaded.freeze());
        Ok(())
    }

    /// The symbol with a name, on a GPU or any.
    pub(crate) fn symbol(&self, name: &str, agent: Option<hsa_agent_t>) -> Answer<&Symbol> {
        let mut symbols = self.symbols.values();
        let found = symbols.find(|symbol| {
            symbol.name == name && agent.is_none_or(|agent| agent.handle == symbol.agent.handle)
        });
        found.ok_or(Status::INVALID_SYMBOL_NAME)
    }
}
