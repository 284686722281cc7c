//! Control flow after an instruction.

/// Next step of a wave after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Continue with the next instruction.
    Next,
    /// Continue at the program counter that the instruction has set.
    Jump,
    /// Continue with the next instruction after other waves had a turn.
    Yield,
    /// Repeat the instruction after other waves had a turn.
    Wait,
    /// End of the wave.
    End,
    /// Fault of the wave.
    Fault,
}
