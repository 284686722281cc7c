//! The linker's inputs and its result.

use crate::code::Answer;
use crate::image::{self, NoPtx, Part};
use crate::jit::Log;

/// The linker's inputs.
pub(crate) struct Linker {
    pub(crate) log: Log,
    pub(crate) parts: Vec<Part>,
    /// The result.
    pub(crate) linked: Option<Vec<u8>>,
}

impl Linker {
    /// The result of a step, whose reason the log gets.
    pub(crate) fn say<T>(&self, result: Result<T, NoPtx>) -> Answer<T> {
        image::code(result, |reason| {
            self.log.write(&format!("error   : {reason}"))
        })
    }
}
