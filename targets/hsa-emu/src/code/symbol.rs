//! Symbols of executables.

use std::sync::Arc;

use hsa_runtime_sys::*;

use crate::gpu::Kernel;

/// A symbol.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) handle: u64,
    pub(crate) name: String,
    pub(crate) agent: hsa_agent_t,
    pub(crate) target: SymbolTarget,
}

/// Kernel or variable that a symbol names.
#[derive(Clone, Debug)]
pub(crate) enum SymbolTarget {
    Kernel {
        kernel: Arc<Kernel>,
        has_dynamic_stack: bool,
    },
    Variable {
        address: u64,
        bytes: u64,
        is_constant: bool,
    },
}
