//! An instruction with resolved operands.

use super::access::Access;
use super::flow::Flow;
use super::group::Group;
use super::operand::{Source, Target};
use super::packed::Packed;
use super::register_counts::RegisterCounts;
use super::vector::Alu;
use super::wave::Wave;
use crate::inst::Inst;

/// Executes an instruction.
pub(crate) type Run = fn(&mut Wave, &Step, &mut Group) -> Flow;

/// An instruction with resolved operands.
pub(crate) struct Step {
    pub(super) run: Run,
    /// Its size.
    pub(super) bytes: u64,
    /// The registers that it needs.
    pub(super) needs: RegisterCounts,
    /// The first destination.
    pub(super) dst: Target,
    /// The sources.
    pub(super) src: [Source; 4],
    /// A number within the instruction.
    pub(super) immediate: i64,
    pub(super) detail: Detail,
    pub(super) inst: Inst,
}

/// What some kinds of instructions need besides.
pub(super) enum Detail {
    None,
    Alu(Box<Alu>),
    Dual(Box<[Alu; 2]>),
    Packed(Box<Packed>),
    Access(Box<Access>),
}
