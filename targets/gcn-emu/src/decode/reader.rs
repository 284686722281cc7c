//! The words of an instruction.

use crate::arch::{Arch, Generation, Target, WaveSize};
use crate::error::DecodeErrorKind;

/// Reads words, and remembers how many the instruction has.
pub(super) struct Reader<'a> {
    target: Target,
    code: &'a [u32],
    length: usize,
    literal: Option<u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(target: Target, code: &'a [u32]) -> Self {
        Self {
            target,
            code,
            length: 0,
            literal: None,
        }
    }

    pub(super) fn arch(&self) -> Arch {
        self.target.arch
    }

    pub(super) fn generation(&self) -> Generation {
        self.target.arch.generation()
    }

    /// The number of registers of a mask of lanes.
    pub(super) fn mask_registers(&self) -> u8 {
        match self.target.wave {
            WaveSize::Wave32 => 1,
            WaveSize::Wave64 => 2,
        }
    }

    /// Whether vector instructions address halves of registers.
    pub(super) fn has_halves(&self) -> bool {
        self.target.arch == Arch::Gfx1100
    }

    /// The word at a position.
    pub(super) fn word(&mut self, position: usize) -> Result<u32, DecodeErrorKind> {
        let word = self.code.get(position).copied();
        self.length = self.length.max(position + 1);
        word.ok_or(DecodeErrorKind::Truncated)
    }

    /// The first two words as one number.
    pub(super) fn long(&mut self) -> Result<u64, DecodeErrorKind> {
        Ok(u64::from(self.word(0)?) | u64::from(self.word(1)?) << 32)
    }

    /// The word behind the instruction, of which there is one at most.
    pub(super) fn literal(&mut self) -> Result<u32, DecodeErrorKind> {
        if let Some(literal) = self.literal {
            return Ok(literal);
        }
        let literal = self.word(self.length)?;
        self.literal = Some(literal);
        Ok(literal)
    }

    /// The number of words.
    pub(super) fn length(&self) -> u8 {
        self.length as u8
    }
}

/// Bits `first..first + count`.
pub(super) fn bits(word: u64, first: u32, count: u32) -> u16 {
    ((word >> first) & ((1 << count) - 1)) as u16
}

/// Whether a bit is set.
pub(super) fn bit(word: u64, position: u32) -> bool {
    (word >> position) & 1 != 0
}

/// The lowest `count` bits of a field that starts at `first`, with sign.
pub(super) fn signed(word: u64, first: u32, count: u32) -> i32 {
    let field = (word >> first) << (64 - count);
    (field as i64 >> (64 - count)) as i32
}
