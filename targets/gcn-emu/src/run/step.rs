//! An instruction with resolved operands.

use super::access::{Access, Action};
use super::calls::Jump;
use super::flow::Flow;
use super::group::Group;
use super::operand::{Destination, Source};
use super::packed::Packed;
use super::register_counts::RegisterCounts;
use super::vector::Alu;
use super::wave::Wave;
use crate::inst::{Inst, Op};
use crate::isa::{Sop1Op, SopkOp};

/// Function that executes an instruction.
pub(crate) type Run = fn(&mut Wave, &Step, &mut Group) -> Flow;

/// An instruction with resolved operands.
pub(crate) struct Step {
    pub(super) run: Run,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Registers that the instruction needs.
    pub(super) needs: RegisterCounts,
    /// The first destination.
    pub(super) dst: Destination,
    /// The sources.
    pub(super) src: [Source; 4],
    /// Immediate of the instruction.
    pub(super) immediate: i64,
    pub(super) detail: Detail,
    pub(super) inst: Inst,
}

impl Step {
    /// Whether the wave executes the instruction once, whatever lanes are active.
    pub(super) fn is_of_wave(&self) -> bool {
        let is_of_caches = matches!(&self.detail, Detail::Access(access) if matches!(access.action, Action::Caches(_)));
        let is_scalar = matches!(
            self.inst.op,
            Op::Sop1(_)
                | Op::Sop2(_)
                | Op::Sopc(_)
                | Op::Sopk(_)
                | Op::Sopp(_)
                | Op::ScalarMemory(_)
        );
        is_scalar || is_of_caches
    }

    /// Kind of the jump that the instruction at `at` makes; none for branches within a function.
    pub(super) fn jump(&self, at: u64) -> Option<Jump> {
        match self.inst.op {
            Op::Sop1(Sop1Op::s_swappc_b64) | Op::Sopk(SopkOp::s_call_b64) => {
                Some(Jump::Call(at + self.bytes))
            }
            Op::Sop1(Sop1Op::s_setpc_b64) => Some(Jump::Indirect),
            _ => None,
        }
    }
}

/// Operands of particular kinds of instructions.
pub(super) enum Detail {
    None,
    Alu(Box<Alu>),
    Dual(Box<[Alu; 2]>),
    Packed(Box<Packed>),
    Access(Box<Access>),
}
