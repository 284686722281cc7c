//! Registers on which the control flow and the effects of a thread depend, directly or not. A loop
//! in which they and memory keep their values never ends, whatever other registers it changes.

use super::op::{
    BarrierKind, Callee, Collective, CollectiveKind, Instr, Op, Pred, PredSrc, Reg, Src,
};

/// The registers and predicates of a function on which control flow and effects depend.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlRegisters {
    pub(crate) regs: Vec<Reg>,
    pub(crate) preds: Vec<Pred>,
}

/// A register or predicate that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Reg(Reg),
    Pred(Pred),
    Carry,
}

impl ControlRegisters {
    /// The order of instructions is ignored: a register that matters anywhere always matters.
    pub(super) fn of(instrs: &[Instr], regs: u32, preds: u32) -> Self {
        let mut known = Known {
            regs: vec![false; regs as usize],
            preds: vec![false; preds as usize],
            carry: false,
        };
        // Backwards, since values are mostly written before they are read.
        let all: Vec<Values> = instrs.iter().rev().map(Values::of).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for values in &all {
                if values.has_effect || values.written.iter().any(|&value| *known.entry(value)) {
                    for &value in &values.read {
                        let entry = known.entry(value);
                        changed |= !*entry;
                        *entry = true;
                    }
                }
            }
        }
        let numbers = |known: &[bool]| -> Vec<u32> {
            let all = (0u32..).zip(known);
            all.filter(|(_, known)| **known).map(|(at, _)| at).collect()
        };
        Self {
            regs: numbers(&known.regs),
            preds: numbers(&known.preds),
        }
    }
}

struct Known {
    regs: Vec<bool>,
    preds: Vec<bool>,
    carry: bool,
}

impl Known {
    fn entry(&mut self, value: Value) -> &mut bool {
        match value {
            Value::Reg(reg) => &mut self.regs[reg as usize],
            Value::Pred(pred) => &mut self.preds[pred as usize],
            Value::Carry => &mut self.carry,
        }
    }
}

#[derive(Default)]
struct Values {
    read: Vec<Value>,
    written: Vec<Value>,
    /// Whether it has effects besides its results.
    has_effect: bool,
}

impl Values {
    fn of(instr: &Instr) -> Self {
        let mut values = Self::default();
        values.preds(instr.guard);
        values.add(&instr.op);
        values
    }

    fn srcs(&mut self, sources: impl IntoIterator<Item = Src>) {
        let regs = sources.into_iter().filter(|src| src.is_register());
        self.read.extend(regs.map(|src| Value::Reg(src.0)));
    }

    fn preds(&mut self, sources: impl IntoIterator<Item = PredSrc>) {
        for source in sources {
            if let PredSrc::Is(pred) | PredSrc::Not(pred) = source {
                self.read.push(Value::Pred(pred));
            }
        }
    }

    fn writes(&mut self, regs: impl IntoIterator<Item = Reg>) {
        self.written.extend(regs.into_iter().map(Value::Reg));
    }

    fn writes_preds(&mut self, preds: impl IntoIterator<Item = Pred>) {
        self.written.extend(preds.into_iter().map(Value::Pred));
    }

    fn add(&mut self, op: &Op) {
        self.writes(op.result());
        match *op {
            // The length of a sleep has no other effect.
            Op::Nop | Op::Sleep { .. } => {}
            Op::Special { .. } | Op::FrameAddress { .. } | Op::ActiveMask { .. } => {}
            Op::Un { a, .. } | Op::Convert { a, .. } => self.srcs([a]),
            Op::ToGeneric { a, .. } | Op::FromGeneric { a, .. } => self.srcs([a]),
            Op::Bin { a, b, .. } | Op::ConvertPair { a, b, .. } => self.srcs([a, b]),
            Op::Tri { a, b, c, .. } => self.srcs([a, b, c]),
            Op::Quad { a, b, c, e, .. } => self.srcs([a, b, c, e]),
            Op::Carry {
                a,
                b,
                c,
                reads,
                writes,
                ..
            } => {
                self.srcs([a, b, c]);
                self.read.extend(reads.then_some(Value::Carry));
                self.written.extend(writes.then_some(Value::Carry));
            }
            Op::SetPred {
                p, q, a, b, with, ..
            } => {
                self.srcs([a, b]);
                self.preds(with.map(|(_, pred)| pred));
                self.writes_preds(p.into_iter().chain(q));
            }
            Op::Set { a, b, with, .. } => {
                self.srcs([a, b]);
                self.preds(with.map(|(_, pred)| pred));
            }
            Op::Test { p, a, .. } | Op::IsSpace { p, a, .. } => {
                self.srcs([a]);
                self.writes_preds([p]);
            }
            Op::Select { a, b, p, .. } => {
                self.srcs([a, b]);
                self.preds([p]);
            }
            Op::SelectBySign { a, b, c, zero, .. } => self.srcs([a, b, c, zero]),
            Op::PredLogic { d, a, b, .. } => {
                self.preds([a, b]);
                self.writes_preds([d]);
            }
            Op::PredMove { d, a } => {
                self.preds([a]);
                self.writes_preds([d]);
            }
            Op::Unpack { ref ds, a, .. } => {
                self.srcs([a]);
                self.writes(ds.iter().copied());
            }
            Op::Pack { ref sources, .. } => self.srcs(sources.iter().copied()),
            Op::Load(ref load) => {
                self.srcs(load.at.base);
                self.writes(load.ds.iter().copied());
            }
            Op::Store(ref store) => {
                self.srcs(store.at.base);
                self.srcs(store.sources.iter().copied());
                self.has_effect = true;
            }
            Op::Atom(ref atom) => {
                self.srcs(atom.at.base);
                self.srcs([atom.b]);
                self.srcs(atom.c);
                self.has_effect = true;
            }
            Op::Fence { .. } | Op::Branch { .. } | Op::Return | Op::Exit | Op::Trap => {
                self.has_effect = true;
            }
            Op::BranchIndexed { index, .. } => {
                self.srcs([index]);
                self.has_effect = true;
            }
            Op::Call(ref call) => {
                if let Callee::Address(address) = call.callee {
                    self.srcs([address]);
                }
                self.has_effect = true;
            }
            Op::Barrier(ref barrier) => {
                self.srcs([barrier.number]);
                self.srcs(barrier.count);
                match barrier.kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::Count { d, p } => {
                        self.preds([p]);
                        self.writes([d]);
                    }
                    BarrierKind::All { d, p } | BarrierKind::Any { d, p } => {
                        self.preds([p]);
                        self.writes_preds([d]);
                    }
                }
                self.has_effect = true;
            }
            Op::Collective(ref collective) => self.add_collective(collective),
            // They affect other threads.
            Op::Async(_) | Op::Cluster(_) | Op::Matrix(_) => {
                let operands = op.operand_set();
                self.srcs(operands.reads);
                self.preds(operands.reads_preds);
                self.writes(operands.writes);
                self.writes_preds(operands.writes_preds);
                self.has_effect = true;
            }
        }
    }

    /// The operands of a collective affect other lanes.
    fn add_collective(&mut self, collective: &Collective) {
        self.has_effect = true;
        self.srcs(collective.members);
        match collective.kind {
            CollectiveKind::Sync => {}
            CollectiveKind::Shuffle { d, p, a, b, c, .. } => {
                self.srcs([a, b, c]);
                self.writes([d]);
                self.writes_preds(p);
            }
            CollectiveKind::All { d, p }
            | CollectiveKind::Any { d, p }
            | CollectiveKind::Uniform { d, p } => {
                self.preds([p]);
                self.writes_preds([d]);
            }
            CollectiveKind::Ballot { d, p } => {
                self.preds([p]);
                self.writes([d]);
            }
            CollectiveKind::MatchAny { d, a } | CollectiveKind::Reduce { d, a, .. } => {
                self.srcs([a]);
                self.writes([d]);
            }
            CollectiveKind::MatchAll { d, p, a } => {
                self.srcs([a]);
                self.writes([d]);
                self.writes_preds(p);
            }
            CollectiveKind::Elect { d, p } => {
                self.writes([d]);
                self.writes_preds([p]);
            }
        }
    }
}
