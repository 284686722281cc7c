//! The step functions of vector arithmetic.

use super::flow::Flow;
use super::group::Group;
use super::operand::Destination;
use super::step::{Detail, Run, Step};
use super::vector::{self, Alu};
use super::wave::Wave;

/// The step function of vector arithmetic.
pub(super) fn step_function(alu: &Alu) -> Run {
    match (&alu.modifiers, alu.count) {
        (None, 1) => plain::<1>,
        (None, 2) => plain::<2>,
        (None, 3) => plain::<3>,
        _ => any,
    }
}

/// Executes vector arithmetic.
fn any(wave: &mut Wave, step: &Step, _: &mut Group) -> Flow {
    match &step.detail {
        Detail::Alu(alu) => alu.run_into(wave, alu.dst),
        _ => Flow::Next,
    }
}

/// Executes vector arithmetic without modifiers, which has `N` sources.
fn plain<const N: usize>(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    match &step.detail {
        Detail::Alu(alu) if alu.allows(wave.mode) => alu.run_unmodified::<N>(wave, alu.dst),
        _ => any(wave, step, group),
    }
}

/// Executes an instruction of the vector unit that computes a scalar.
pub(super) fn scalar(wave: &mut Wave, step: &Step, _: &mut Group) -> Flow {
    match (&step.detail, step.dst) {
        (Detail::Alu(alu), Destination::Scalar(dst)) => alu.run_scalar(wave, dst),
        _ => Flow::Next,
    }
}

/// Executes a VOPD instruction.
pub(super) fn dual(wave: &mut Wave, step: &Step, _: &mut Group) -> Flow {
    match &step.detail {
        Detail::Dual(halves) => vector::run_dual(wave, halves),
        _ => Flow::Next,
    }
}
