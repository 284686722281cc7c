//! Finds what device code must not contain: accesses to shared words that did not come
//! from device-rt's own instructions.
//!
//! The compiler's atomics look the same in a kernel's source and are something else in
//! its image: on NVIDIA, LLVM makes relaxed read-modify-writes at device scope of
//! ordered ones.

mod amdgcn;
mod nvptx;

use std::fmt;

use targets::arch::{Arch, Target};

use crate::listing::Function;

/// Something that must not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The function that it is in.
    pub function: String,
    /// The line of the assembly.
    pub line: usize,
    /// The instruction.
    pub instruction: String,
    /// What is wrong with it.
    pub wrong: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, line {}: `{}`: {}; use device_rt::arch's words (SystemWords for memory that \
             the host shares, DeviceWords for the device's own), not core's atomics, \
             fences or volatile accesses",
            self.function, self.line, self.instruction, self.wrong
        )
    }
}

/// Looks through the functions of an image for `arch`.
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
