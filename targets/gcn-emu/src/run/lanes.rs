//! Vector instructions across lanes, and moves.

use bus_cost::record::lanes_of;

use super::flow::Flow;
use super::group::Group;
use super::operand::{Destination, Source};
use super::step::{Run, Step};
use super::vector::source_rows;
use super::wave::Wave;
use crate::alu::{LANES, Row};
use crate::arch::Generation;
use crate::fault::FaultKind;
use crate::inst::Modifiers;
use crate::isa::{LdsOp, PackedOp, ValuOp};

/// The step function of a vector operation across lanes.
pub(super) fn vector(op: ValuOp) -> Option<Run> {
    Some(match op {
        ValuOp::v_nop | ValuOp::v_pipeflush | ValuOp::v_clrexcp => |_, _, _| Flow::Next,
        ValuOp::v_readfirstlane_b32 => |wave, step, _| {
            let first = wave.exec().trailing_zeros() as usize % LANES;
            read_lane(wave, step, first)
        },
        ValuOp::v_readlane_b32 => |wave, step, _| {
            let lane = lane_of(wave, &step.src[1]);
            read_lane(wave, step, lane)
        },
        ValuOp::v_writelane_b32 => |wave, step, _| {
            let (value, lane) = (wave.read32(&step.src[0]), lane_of(wave, &step.src[1]));
            if let Destination::Vector(row) = step.dst {
                wave.set_word(row.into(), lane, value);
            }
            Flow::Next
        },
        ValuOp::v_mbcnt_lo_u32_b32 => {
            |wave, step, _| count(wave, step, |lane| ((1u64 << lane.min(32)) - 1) as u32)
        }
        ValuOp::v_mbcnt_hi_u32_b32 => |wave, step, _| {
            count(wave, step, |lane| {
                ((1u64 << lane.saturating_sub(32)) - 1) as u32
            })
        },
        ValuOp::v_swap_b32 => |wave, step, _| {
            let (Destination::Vector(one), Source::Vector(other)) = (step.dst, &step.src[0]) else {
                return Flow::Next;
            };
            let (one, other) = (usize::from(one), usize::from(*other));
            for lane in lanes_of(wave.exec()) {
                let words = [wave.word(one, lane), wave.word(other, lane)];
                wave.set_word(one, lane, words[1]);
                wave.set_word(other, lane, words[0]);
            }
            Flow::Next
        },
        ValuOp::v_permlane16_b32 => |wave, step, _| permute_row(wave, step, 0),
        ValuOp::v_permlanex16_b32 => |wave, step, _| permute_row(wave, step, 16),
        ValuOp::v_permlane64_b32 => |wave, step, _| {
            let half = wave.lanes.count_ones() as usize / 2;
            if half == 32 {
                let rows = rows(wave, &step.src[0]);
                write(wave, step.dst, |lane| rows[(lane + half) % LANES]);
            }
            Flow::Next
        },
        ValuOp::v_accvgpr_mov_b32 => move_row,
        _ => return None,
    })
}

/// The step function of a move from or to accumulation registers.
pub(super) fn packed(op: PackedOp) -> Option<Run> {
    match op {
        PackedOp::v_accvgpr_read_b32 | PackedOp::v_accvgpr_write_b32 => Some(move_row),
        _ => None,
    }
}

/// The step function of an LDS instruction that moves data between lanes.
pub(super) fn lds(op: LdsOp) -> Option<Run> {
    Some(match op {
        LdsOp::ds_nop => |_, _, _| Flow::Next,
        LdsOp::ds_bpermute_b32 | LdsOp::ds_bpermute_fi_b32 => |wave, step, _| {
            let fetches_inactive = step.inst.op.row().name.contains("_fi_");
            let (exec, reach) = (wave.exec(), Reach::of(wave));
            let [addresses, data] = [0, 1].map(|at| rows(wave, &step.src[at]));
            let offset = step.immediate as u32;
            write(wave, step.dst, |lane| {
                let from = reach.lane(lane, addresses[lane].wrapping_add(offset));
                match fetches_inactive || exec >> from & 1 != 0 {
                    true => data[from],
                    false => 0,
                }
            });
            Flow::Next
        },
        LdsOp::ds_permute_b32 => |wave, step, _| {
            let (exec, reach) = (wave.exec(), Reach::of(wave));
            let [addresses, data] = [0, 1].map(|at| rows(wave, &step.src[at]));
            let offset = step.immediate as u32;
            let mut sent = [0; LANES];
            for lane in lanes_of(exec) {
                let to = reach.lane(lane, addresses[lane].wrapping_add(offset));
                sent[to] = data[lane];
            }
            write(wave, step.dst, |lane| sent[lane]);
            Flow::Next
        },
        LdsOp::ds_swizzle_b32 => |wave, step, _| {
            let (exec, data) = (wave.exec(), rows(wave, &step.src[0]));
            let pattern = step.immediate as usize;
            if pattern >> 14 == 3 {
                return wave.fail_all(FaultKind::Unsupported(
                    "a rotation or FFT pattern of `ds_swizzle_b32`".to_owned(),
                ));
            }
            write(wave, step.dst, |lane| {
                let from = match pattern >> 15 {
                    0 => {
                        let [and, or, xor] = [0, 5, 10].map(|first| pattern >> first & 31);
                        lane & !31 | ((lane & 31 & and) | or) ^ xor
                    }
                    _ => lane & !3 | pattern >> (2 * (lane & 3)) & 3,
                };
                match exec >> from & 1 {
                    0 => 0,
                    _ => data[from],
                }
            });
            Flow::Next
        },
        _ => return None,
    })
}

/// The number of lanes among which a lane reaches others by the address of a word.
///
/// Source: AMD's RDNA 3 manual, `DS_PERMUTE_B32`: 32 lanes, whatever the size of a wave. Other
/// architectures reach the whole wave.
struct Reach(usize);

impl Reach {
    fn of(wave: &Wave) -> Self {
        match wave.target.arch.generation() {
            Generation::Gfx11 => Self(32),
            Generation::Gfx9 | Generation::Gfx12 => Self(wave.lanes.count_ones() as usize),
        }
    }

    /// The lane that a lane reaches at an address.
    fn lane(&self, lane: usize, address: u32) -> usize {
        lane / self.0 * self.0 + address as usize / 4 % self.0
    }
}

/// The words of a source in all lanes.
fn rows(wave: &mut Wave, source: &Source) -> Row {
    let row = source_rows(wave, source, u64::MAX, (0, 1));
    // SAFETY: a row of this wave, or of a constant.
    unsafe { row.read() }
}

/// Writes a word to each active lane.
fn write(wave: &mut Wave, dst: Destination, word: impl Fn(usize) -> u32) {
    if let Destination::Vector(row) = dst {
        for lane in lanes_of(wave.exec()) {
            wave.set_word(row.into(), lane, word(lane));
        }
    }
}

fn lane_of(wave: &Wave, source: &Source) -> usize {
    let count = wave.lanes.count_ones();
    (wave.read32(source) % count) as usize
}

fn read_lane(wave: &mut Wave, step: &Step, lane: usize) -> Flow {
    let word = match step.src[0] {
        Source::Vector(row) => wave.word(row.into(), lane),
        ref source => wave.read32(source),
    };
    if let Destination::Scalar(number) = step.dst {
        wave.set_scalar(number, word);
    }
    Flow::Next
}

/// Adds the number of bits of a mask that belong to lanes below.
fn count(wave: &mut Wave, step: &Step, below: impl Fn(u32) -> u32) -> Flow {
    let [mask, sum] = [0, 1].map(|at| rows(wave, &step.src[at]));
    write(wave, step.dst, |lane| {
        let bits = mask[lane] & below(lane as u32);
        sum[lane].wrapping_add(bits.count_ones())
    });
    Flow::Next
}

/// Reads from lanes of the same row of 16, or of its neighbour.
fn permute_row(wave: &mut Wave, step: &Step, other: usize) -> Flow {
    let (exec, data) = (wave.exec(), rows(wave, &step.src[0]));
    let [low, high] = [1, 2].map(|at| u64::from(wave.read32(&step.src[at])));
    let selects = high << 32 | low;
    let (fetches_inactive, reads_zero) = match &step.inst.modifiers {
        Modifiers::Alu(modifiers) => (modifiers.op_sel & 1 != 0, modifiers.op_sel & 2 != 0),
        _ => (false, false),
    };
    let Destination::Vector(dst) = step.dst else {
        return Flow::Next;
    };
    for lane in lanes_of(exec) {
        let from = (lane & !15 ^ other) + (selects >> (4 * (lane & 15)) & 15) as usize;
        if fetches_inactive || exec >> from & 1 != 0 {
            wave.set_word(dst.into(), lane, data[from]);
        } else if reads_zero {
            wave.set_word(dst.into(), lane, 0);
        }
    }
    Flow::Next
}

fn move_row(wave: &mut Wave, step: &Step, _: &mut Group) -> Flow {
    let data = rows(wave, &step.src[0]);
    write(wave, step.dst, |lane| data[lane]);
    Flow::Next
}
