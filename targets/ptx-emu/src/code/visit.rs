//! The operands of each operation.

use super::op::{BarrierKind, Callee, CollectiveKind, Op};
use super::operand::{Operand, OperandVisitor, Reg};

impl Op {
    /// Calls `visit` with each register that the operation reads or writes; predicates are none.
    pub(crate) fn for_each_register(&self, mut visit: impl FnMut(Reg)) {
        self.for_each_operand(&mut |operand| match operand {
            Operand::Read(source) if source.is_register() => visit(source.0),
            Operand::Write(register) => visit(register),
            _ => {}
        });
    }

    /// Calls `visit` with each operand.
    pub(super) fn for_each_operand(&self, visit: &mut dyn FnMut(Operand)) {
        let operands = &mut OperandVisitor::new(visit);
        match *self {
            Self::Nop
            | Self::Fence { .. }
            | Self::Branch { .. }
            | Self::Return
            | Self::Exit
            | Self::Trap => operands,
            Self::Un { d, a, .. }
            | Self::Convert { d, a, .. }
            | Self::ToGeneric { d, a, .. }
            | Self::FromGeneric { d, a, .. } => operands.reads([a]).writes([d]),
            Self::Bin { d, a, b, .. } | Self::ConvertPair { d, a, b, .. } => {
                operands.reads([a, b]).writes([d])
            }
            Self::Tri { d, a, b, c, .. } => operands.reads([a, b, c]).writes([d]),
            Self::Quad { d, a, b, c, e, .. } => operands.reads([a, b, c, e]).writes([d]),
            Self::Carry {
                d,
                a,
                b,
                c,
                reads,
                writes,
                ..
            } => {
                let carry = [(reads, Operand::ReadCarry), (writes, Operand::WriteCarry)];
                let carry = carry.into_iter().filter(|(is_there, _)| *is_there);
                operands
                    .visit(carry.map(|(_, operand)| operand))
                    .reads([a, b, c])
                    .writes([d])
            }
            Self::SetPred {
                p, q, a, b, with, ..
            } => operands
                .reads([a, b])
                .reads_preds(with.map(|(_, pred)| pred))
                .writes_preds(p.into_iter().chain(q)),
            Self::Set { d, a, b, with, .. } => operands
                .reads([a, b])
                .reads_preds(with.map(|(_, pred)| pred))
                .writes([d]),
            Self::Test { p, a, .. } | Self::IsSpace { p, a, .. } => {
                operands.reads([a]).writes_preds([p])
            }
            Self::Select { d, a, b, p } => operands.reads([a, b]).reads_preds([p]).writes([d]),
            Self::SelectBySign {
                d, a, b, c, zero, ..
            } => operands.reads([a, b, c, zero]).writes([d]),
            Self::PredLogic { d, a, b, .. } => operands.reads_preds([a, b]).writes_preds([d]),
            Self::PredMove { d, a } => operands.reads_preds([a]).writes_preds([d]),
            Self::Special { d, .. } | Self::FrameAddress { d, .. } | Self::ActiveMask { d } => {
                operands.writes([d])
            }
            Self::Unpack { ref ds, a, .. } => operands.reads([a]).writes(ds.iter().copied()),
            Self::Pack { d, ref sources, .. } => {
                operands.reads(sources.iter().copied()).writes([d])
            }
            Self::Load(ref load) => operands.at(&load.at).writes(load.ds.iter().copied()),
            Self::Store(ref store) => operands.at(&store.at).reads(store.sources.iter().copied()),
            Self::Atom(ref atom) => operands
                .at(&atom.at)
                .reads([atom.b])
                .reads(atom.c)
                .writes(atom.d),
            Self::BranchIndexed { index, .. } => operands.reads([index]),
            Self::Call(ref call) => match call.callee {
                Callee::Address(address) => operands.reads([address]),
                Callee::Function(_) | Callee::System(_) => operands,
            },
            Self::Sleep { nanoseconds } => operands.reads([nanoseconds]),
            Self::Barrier(ref barrier) => {
                operands.reads([barrier.number]).reads(barrier.count);
                match barrier.kind {
                    BarrierKind::Sync | BarrierKind::Arrive => operands,
                    BarrierKind::Count { d, p } => operands.reads_preds([p]).writes([d]),
                    BarrierKind::All { d, p } | BarrierKind::Any { d, p } => {
                        operands.reads_preds([p]).writes_preds([d])
                    }
                }
            }
            Self::Collective(ref collective) => {
                let operands = operands.reads(collective.members);
                match collective.kind {
                    CollectiveKind::Sync => operands,
                    CollectiveKind::Shuffle { d, p, a, b, c, .. } => {
                        operands.reads([a, b, c]).writes([d]).writes_preds(p)
                    }
                    CollectiveKind::All { d, p }
                    | CollectiveKind::Any { d, p }
                    | CollectiveKind::Uniform { d, p } => {
                        operands.reads_preds([p]).writes_preds([d])
                    }
                    CollectiveKind::Ballot { d, p } => operands.reads_preds([p]).writes([d]),
                    CollectiveKind::MatchAny { d, a } | CollectiveKind::Reduce { d, a, .. } => {
                        operands.reads([a]).writes([d])
                    }
                    CollectiveKind::MatchAll { d, p, a } => {
                        operands.reads([a]).writes([d]).writes_preds(p)
                    }
                    CollectiveKind::Elect { d, p } => operands.writes([d]).writes_preds([p]),
                }
            }
            Self::Async(ref op) => op.operands(operands),
            Self::Cluster(ref op) => op.operands(operands),
            Self::Matrix(ref op) => op.operands(operands),
        };
    }
}
