//! Registers on which the control flow and the effects of a thread depend, directly or not. A loop
//! in which they and memory keep their values never ends, whatever other registers it changes.

use super::op::{Instr, Op, Pred, PredSrc, Reg};
use super::operand::Operand;

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
        let mut values = Self {
            has_effect: has_effect(&instr.op),
            ..Self::default()
        };
        if let Some(PredSrc::Is(pred) | PredSrc::Not(pred)) = instr.guard {
            values.read.push(Value::Pred(pred));
        }
        instr.op.for_each_operand(&mut |operand| match operand {
            Operand::Read(source) if source.is_register() => {
                values.read.push(Value::Reg(source.0));
            }
            Operand::Read(_) => {}
            Operand::ReadPred(pred) => values.read.push(Value::Pred(pred)),
            Operand::ReadCarry => values.read.push(Value::Carry),
            Operand::Write(register) => values.written.push(Value::Reg(register)),
            Operand::WritePred(pred) => values.written.push(Value::Pred(pred)),
            Operand::WriteCarry => values.written.push(Value::Carry),
        });
        values
    }
}

/// Whether an operation has effects besides its results: on memory, on the control flow, or on other
/// threads. The length of a sleep is none.
fn has_effect(op: &Op) -> bool {
    match op {
        Op::Store(_)
        | Op::Atom(_)
        | Op::Fence { .. }
        | Op::Branch { .. }
        | Op::BranchIndexed { .. }
        | Op::Call(_)
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Barrier(_)
        | Op::Collective(_)
        | Op::Async(_)
        | Op::Cluster(_)
        | Op::Matrix(_) => true,
        Op::Nop
        | Op::Sleep { .. }
        | Op::Special { .. }
        | Op::FrameAddress { .. }
        | Op::ActiveMask { .. }
        | Op::Un { .. }
        | Op::Bin { .. }
        | Op::Tri { .. }
        | Op::Quad { .. }
        | Op::Carry { .. }
        | Op::Convert { .. }
        | Op::ConvertPair { .. }
        | Op::SetPred { .. }
        | Op::Set { .. }
        | Op::Test { .. }
        | Op::Select { .. }
        | Op::SelectBySign { .. }
        | Op::PredLogic { .. }
        | Op::PredMove { .. }
        | Op::Unpack { .. }
        | Op::Pack { .. }
        | Op::ToGeneric { .. }
        | Op::FromGeneric { .. }
        | Op::IsSpace { .. }
        | Op::Load(_) => false,
    }
}
