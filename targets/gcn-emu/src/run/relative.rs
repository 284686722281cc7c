//! Registers at a distance that M0 has.

use bus_cost::record::lanes_of;

use super::flow::Flow;
use super::group::Group;
use super::operand::{Destination, Source};
use super::step::{Run, Step};
use super::vector::source_rows;
use super::wave::Wave;
use crate::fault::FaultKind;
use crate::isa::{Sop1Op, SopcOp, SoppOp, ValuOp};

/// The operands that gfx9's index mode moves, in M0: the sources, then the destination.
const MOVED: u32 = 12;

/// The distance of registers in index mode, in M0.
const DISTANCE: u32 = 0xff;

/// Relative distances of a move: those of its source and its destination.
type Distances = fn(u32) -> [u32; 2];

/// The step function of a scalar operation.
pub(super) fn one(op: Sop1Op) -> Option<Run> {
    Some(match op {
        Sop1Op::s_movrels_b32 => |wave, step, _| move_scalar(wave, step, 1, |m0| [m0, 0]),
        Sop1Op::s_movrels_b64 => |wave, step, _| move_scalar(wave, step, 2, |m0| [m0, 0]),
        Sop1Op::s_movreld_b32 => |wave, step, _| move_scalar(wave, step, 1, |m0| [0, m0]),
        Sop1Op::s_movreld_b64 => |wave, step, _| move_scalar(wave, step, 2, |m0| [0, m0]),
        Sop1Op::s_movrelsd_2_b32 => |wave, step, _| move_scalar(wave, step, 1, two_distances),
        Sop1Op::s_set_gpr_idx_idx => |wave, step, _| {
            let distance = wave.read32(&step.src[0]);
            set_index(wave, DISTANCE, distance)
        },
        _ => return None,
    })
}

/// The step function of a vector operation.
pub(super) fn vector(op: ValuOp) -> Option<Run> {
    Some(match op {
        ValuOp::v_movreld_b32 => |wave, step, _| move_vector(wave, step, |m0| [0, m0]),
        ValuOp::v_movrels_b32 => |wave, step, _| move_vector(wave, step, |m0| [m0, 0]),
        ValuOp::v_movrelsd_b32 => |wave, step, _| move_vector(wave, step, |m0| [m0, m0]),
        ValuOp::v_movrelsd_2_b32 => |wave, step, _| move_vector(wave, step, two_distances),
        _ => return None,
    })
}

/// The step function of the operation that begins index mode.
pub(super) fn begin(op: SopcOp) -> Option<Run> {
    (op == SopcOp::s_set_gpr_idx_on).then_some(|wave, step, _| {
        let distance = wave.read32(&step.src[0]);
        wave.set_index_mode(true);
        set_index(wave, DISTANCE, distance);
        set_moved(wave, step.immediate)
    })
}

/// The step function of an operation that ends or changes index mode.
pub(super) fn change(op: SoppOp) -> Option<Run> {
    Some(match op {
        SoppOp::s_set_gpr_idx_off => |wave: &mut Wave, _: &Step, _: &mut Group| {
            wave.set_index_mode(false);
            Flow::Next
        },
        SoppOp::s_set_gpr_idx_mode => |wave, step, _| set_moved(wave, step.immediate),
        _ => return None,
    })
}

/// The distance of an operand's register in index mode: of a source, by its number; of the destination.
pub(super) fn distance(wave: &Wave, source: Option<usize>) -> u8 {
    let m0 = wave.m0();
    let bit = MOVED + source.map_or(3, |number| number as u32);
    match m0 >> bit & 1 {
        0 => 0,
        _ => (m0 & DISTANCE) as u8,
    }
}

fn set_moved(wave: &mut Wave, operands: i64) -> Flow {
    set_index(wave, 15 << MOVED, (operands as u32) << MOVED)
}

fn set_index(wave: &mut Wave, field: u32, value: u32) -> Flow {
    let m0 = wave.m0() & !field | value & field;
    wave.set_m0(m0);
    Flow::Next
}

/// The distances of `v_movrelsd_2_b32` and its like.
fn two_distances(m0: u32) -> [u32; 2] {
    [m0 & 0x3ff, m0 >> 16 & 0x3ff]
}

/// Moves so many scalar registers.
fn move_scalar(wave: &mut Wave, step: &Step, count: u8, distances: Distances) -> Flow {
    let [from, to] = distances(wave.m0());
    let (Source::Scalar(source), Destination::Scalar(target)) = (&step.src[0], step.dst) else {
        return wave.fail_all(FaultKind::Unsupported(format!("`{}`", step.inst)));
    };
    let place = |first: u8, distance: u32| {
        let first = u32::from(first).checked_add(distance)?;
        u8::try_from(first)
            .ok()
            .filter(|&it| wave.has_scalar(it, count))
    };
    let (Some(source), Some(target)) = (place(*source, from), place(target, to)) else {
        let kind = wave.lacking_relative("s", wave.m0());
        return wave.fail_all(kind);
    };
    let words = [0, count - 1].map(|at| wave.scalar(source + at));
    for at in 0..count {
        wave.set_scalar(target + at, words[usize::from(at)]);
    }
    Flow::Next
}

fn move_vector(wave: &mut Wave, step: &Step, distances: Distances) -> Flow {
    let [from, to] = distances(wave.m0());
    let Destination::Vector(target) = step.dst else {
        return Flow::Next;
    };
    let target = wave.relative_row(target, to);
    let source = match (&step.src[0], from) {
        (Source::Vector(row), distance) => wave.relative_row(*row, distance).map(Source::Vector),
        (other, _) => Some(other.clone()),
    };
    let (Some(source), Some(target)) = (source, target) else {
        let kind = wave.lacking_relative("v", wave.m0());
        return wave.fail_all(kind);
    };
    let exec = wave.exec();
    let words = source_rows(wave, &source, exec, (0, 1));
    // SAFETY: a row that the wave has, of a constant, or temporary.
    let words = unsafe { words.read() };
    for lane in lanes_of(exec) {
        wave.set_word(target.into(), lane, words[lane]);
    }
    Flow::Next
}
