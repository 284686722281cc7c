//! The parts of an opcode.

use crate::alu::float::Rounding;
use crate::text::error::TextError;
use crate::text::types::Type;

/// The modifiers of an instruction, each to be taken once: what is left over at the end
/// is not known.
pub(super) struct Modifiers<'a> {
    parts: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// The name of the instruction, and the rest.
    pub(super) fn split(opcode: &'a str) -> (&'a str, Self) {
        let mut parts = opcode.split('.');
        let name = parts.next().unwrap_or_default();
        let parts = parts.collect();
        (name, Self { parts })
    }

    /// Whether there is `name`.
    pub(super) fn take(&mut self, name: &str) -> bool {
        let at = self.parts.iter().position(|&part| part == name);
        at.map(|at| self.parts.remove(at)).is_some()
    }

    /// Whether there is `name`, which stays.
    pub(super) fn has(&self, name: &str) -> bool {
        self.parts.contains(&name)
    }

    /// The first that `known` knows.
    pub(super) fn find<T>(&mut self, known: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) = self
            .parts
            .iter()
            .enumerate()
            .find_map(|(at, part)| Some((at, known(part)?)))?;
        self.parts.remove(at);
        Some(value)
    }

    /// The next, if `known` knows it.
    pub(super) fn next<T>(&mut self, known: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        let value = known(self.parts.first()?)?;
        self.parts.remove(0);
        Some(value)
    }

    /// The next as it is.
    pub(super) fn word(&mut self) -> Result<&'a str, TextError> {
        if self.parts.is_empty() {
            return Err(TextError::Missing("a modifier"));
        }
        Ok(self.parts.remove(0))
    }

    /// All that are left.
    pub(super) fn rest(&mut self) -> Vec<&'a str> {
        std::mem::take(&mut self.parts)
    }

    /// The type, the first of several.
    pub(super) fn ty(&mut self) -> Result<Type, TextError> {
        self.find(Type::named).ok_or(TextError::Missing("the type"))
    }

    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.find(Rounding::named)
    }

    /// Nothing else is there.
    pub(super) fn done(&self) -> Result<(), TextError> {
        match self.parts.first() {
            None => Ok(()),
            Some(part) => Err(TextError::Modifier((*part).to_owned())),
        }
    }
}
