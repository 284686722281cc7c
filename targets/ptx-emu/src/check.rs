//! The race checker, which `race-check` has, for PTX.

use std::sync::Arc;

use race_check::{Checker, Places, Rules, Site};

use crate::alu::LANES;
use crate::memory::{Change, Memory, is_mapped};
use crate::module::Module;

/// A checker of accesses to `memory`.
pub(crate) fn checker(memory: &Memory) -> Arc<Checker> {
    let checker = Arc::new(Checker::new(Rules {
        width: LANES as u32,
        is_explicit: true,
        is_mapped: Box::new(is_mapped),
        registers_mapped: true,
        words: ["block", "thread"],
    }));
    let observer = Arc::clone(&checker);
    memory.observe(move |change| match change {
        Change::Mapped {
            address,
            bytes,
            host,
        } => {
            // SAFETY: blocks are freed only after this was told so, and the host treats them as memory that it
            // shares with a device.
            unsafe { observer.map(address, bytes, host) }
        }
        Change::Freed { address, bytes } => observer.forget(address, bytes),
    });
    checker
}

/// The number of a module's code.
pub(crate) fn number_of(module: &Arc<Module>) -> u64 {
    Arc::as_ptr(module) as u64
}

/// An instruction in a module's code.
pub(crate) fn site(module: u64, function: u32, pc: u32) -> Site {
    (module, u64::from(function) << 32 | u64::from(pc))
}

/// The function and the instruction of a site.
pub(crate) fn instruction((_, place): Site) -> (u32, u32) {
    ((place >> 32) as u32, place as u32)
}

impl Places for Module {
    fn describe(&self, place: u64) -> String {
        let (function, pc) = instruction((0, place));
        self.place(function, pc).to_string()
    }
}
