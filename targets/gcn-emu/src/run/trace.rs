//! Printed trace of a lane.

use std::fmt::Write as _;

use super::code::Code;
use super::kernel::Trace;
use super::operand::Destination;
use super::step::{Detail, Step};
use super::wave::Wave;
use crate::inst::{Register, Value};

/// Prints an instruction of a lane after its execution, with the registers that it has written. `pc` is its
/// address, `exec` its active lanes.
pub(super) fn print(
    trace: &Trace,
    (code, pc): (&Code, u64),
    (wave, lane): (&Wave, usize),
    step: &Step,
    exec: u64,
) {
    let mut line = code.location(wave.target, pc).to_string();
    let is_vector = matches!(
        step.detail,
        Detail::Alu(_) | Detail::Dual(_) | Detail::Packed(_) | Detail::Access(_)
    ) || matches!(step.dst, Destination::Vector(_));
    if is_vector && exec >> lane & 1 == 0 {
        line.push_str("  (not executed)");
    } else {
        let row = step.inst.op.row();
        let count = step.inst.operands.len().saturating_sub(row.src.len());
        for operand in &step.inst.operands[..count.min(row.dst.len())] {
            if let Value::Registers(register, count) = operand.value {
                let value = value(wave, lane, register, count);
                // Writing to a `String` cannot fail.
                let _ = write!(line, "  = {value:#x}");
            }
        }
    }
    (trace.sink)(&line);
}

/// The bits of up to four registers.
fn value(wave: &Wave, lane: usize, register: Register, count: u8) -> u128 {
    let word = |at: u8| match register {
        Register::Vector(first) => wave.vector(first + at, lane),
        Register::Accumulation(first) => wave.accumulation(first + at, lane),
        Register::Scalar(first) => wave.scalar(first + at),
        Register::Trap(first) => wave.scalar(108 + first + at),
        Register::Special(first) => wave.scalar(first.saturating_add(at)),
    };
    (0..count.min(4)).fold(0, |bits, at| bits | u128::from(word(at)) << (32 * at))
}
