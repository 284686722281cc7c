//! Errors.

use crate::arch::Arch;

/// Words that are not a valid instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at {address:#x} for {arch}: {}", hex(.words))]
pub struct DecodeError {
    /// The address of the first word.
    pub address: u64,
    /// The words from there, at most four.
    pub words: Vec<u32>,
    /// The architecture.
    pub arch: Arch,
    /// The reason.
    pub kind: DecodeErrorKind,
}

/// The reason why words are not a valid instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// The encoding has no operation of that number.
    #[error("unknown instruction")]
    UnknownOperation,
    /// The instruction is one for graphics, which the decoder does not support.
    #[error("unsupported graphics instruction")]
    Graphics,
    /// An operand's number means nothing there.
    #[error("invalid operand {0}")]
    Operand(u16),
    /// The number of the first scalar register of several is not a multiple of their alignment.
    #[error("misaligned scalar register {0}")]
    MisalignedRegister(u16),
    /// Bits that must be zero are set, or a modifier does not exist for the operation.
    #[error("invalid modifier")]
    Modifier,
    /// The code ends within the instruction.
    #[error("truncated instruction")]
    Truncated,
}

fn hex(words: &[u32]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("{word:08x}")).collect();
    words.join(" ")
}
