//! Finds instructions that device code must not contain: accesses to shared words other than
//! device-rt's own.
//!
//! The compiler's atomics look the same in a kernel's source, but have another meaning in its
//! image: for NVIDIA, LLVM compiles ordered read-modify-writes to relaxed ones at device scope.

mod amdgcn;
mod nvptx;

use std::fmt;

use targets::arch::{Arch, Target};

use crate::listing::Function;

/// A forbidden instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its function.
    pub function: String,
    /// Its line in the assembly.
    pub line: usize,
    /// The instruction.
    pub instruction: String,
    /// The reason.
    pub wrong: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, line {}: `{}`: {}; use revoff_device::arch's words (SystemWords for memory that \
             the host shares, DeviceWords for the device's own), not core's atomics, \
             fences or volatile accesses",
            self.function, self.line, self.instruction, self.wrong
        )
    }
}

/// Checks the functions of an image for `arch`.
#[must_use]
pub fn lint(arch: &Arch, functions: &[Function]) -> Vec<Finding> {
    let mut found = vec![];
    for function in functions {
        for (line, instruction) in function.instructions() {
            let wrong = match arch.target {
                Target::Nvptx => nvptx::wrong(arch, &function.name, instruction),
                Target::Amdgcn => amdgcn::wrong(arch, instruction),
            };
            if let Some(wrong) = wrong {
                found.push(Finding {
                    function: function.name.clone(),
                    line,
                    instruction: instruction.to_string(),
                    wrong,
                });
            }
        }
    }
    found
}
