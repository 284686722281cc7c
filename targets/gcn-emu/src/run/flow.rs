//! What a wave does after an instruction.

/// What a wave does after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It continues with the next instruction.
    Next,
    /// It continues where the instruction has set the counter.
    Jump,
    /// It continues with the next instruction, after other waves.
    Yield,
    /// It repeats the instruction, after other waves.
    Wait,
    /// It has ended.
    End,
    /// It has a fault.
    Fault,
}
