//! Index mode of gfx9: instructions whose vector registers are at a distance.
//!
//! While a wave is in it, its steps are made anew for each execution. Compilers emit one or two
//! instructions in it, to access an element of a vector of registers.

use super::flow::Flow;
use super::group::Group;
use super::lower::lower;
use super::relative::distance;
use super::step::Step;
use super::wave::Wave;
use crate::fault::FaultKind;
use crate::inst::{Op, Register, Value};

/// Executes an instruction that the wave's registers do not suffice for, or that is in index mode.
#[cold]
pub(super) fn run(wave: &mut Wave, step: &Step, group: &mut Group) -> Result<Flow, FaultKind> {
    if !wave.is_in_index_mode() {
        return Err(wave.lacking(step.needs));
    }
    let mut inst = step.inst.clone();
    if matches!(inst.op, Op::Valu(_) | Op::Packed(_)) {
        let dsts = inst.operands.len() - inst.op.row().src.len().min(inst.operands.len());
        for (at, operand) in inst.operands.iter_mut().enumerate() {
            let Value::Registers(Register::Vector(number), _) = &mut operand.value else {
                continue;
            };
            let by = distance(wave, at.checked_sub(dsts));
            *number = number
                .checked_add(by)
                .ok_or_else(|| wave.lacking_relative("v", wave.m0()))?;
        }
    }
    let moved = lower(inst)?;
    if !wave.declares(moved.needs) {
        return Err(wave.lacking(moved.needs));
    }
    Ok((moved.run)(wave, &moved, group))
}
