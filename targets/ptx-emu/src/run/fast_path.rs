//! The quick way through instructions that concern their own lanes alone: arithmetic, jumps of all
//! lanes, and weak accesses to memory.
//!
//! It does what [`exec`](super::exec) does for these instructions, without what only observed or
//! divergent groups need.

use super::access::{Ids, load_lane, load_lanes, store_lane, store_lanes};
use super::compute::{compute_common, compute_rare};
use super::fault::LaneFault;
use super::frame::Frame;
use super::space::Spaces;
use crate::alu::Mask;
use crate::code::Function;
use crate::code::op::{Op, Pc, Semantics, StateSpace};

/// Lanes that run together, unobserved.
pub(super) struct FastPath<'a> {
    pub(super) functions: &'a [Function],
    pub(super) frame: &'a mut Frame,
    pub(super) lanes: Mask,
    /// The number of these lanes.
    pub(super) count: u32,
    /// The instruction from which on they may meet others.
    pub(super) meets: Pc,
    /// Whether jumps change that instruction.
    pub(super) may_meet_after_jumps: bool,
    /// Whether changes of memory are recorded.
    pub(super) records_stores: bool,
    pub(super) spaces: Spaces<'a>,
    pub(super) ids: &'a Ids<'a>,
    pub(super) progress: &'a mut bool,
    pub(super) polls_mapped_memory: &'a mut bool,
}

/// The outcome of [`FastPath::run`].
pub(super) struct Advance {
    /// The next instruction, or the one at which lanes have faulted.
    pub(super) pc: Pc,
    /// Executed instructions, each once for every active lane.
    pub(super) executed: u64,
    pub(super) fault: Option<LaneFault>,
}

impl FastPath<'_> {
    /// Executes instructions from `pc` on, at most `left`, up to the first one that is not for it.
    #[inline]
    pub(super) fn run(self, pc: Pc, left: &mut u32) -> Advance {
        if self.count == 1 {
            self.run_lanes::<true>(pc, left)
        } else {
            self.run_lanes::<false>(pc, left)
        }
    }

    /// The same. With `ONE`, there is one lane.
    fn run_lanes<const ONE: bool>(self, mut pc: Pc, left: &mut u32) -> Advance {
        let Self {
            functions,
            frame,
            lanes,
            spaces,
            ids,
            progress,
            polls_mapped_memory,
            ..
        } = self;
        let function = &functions[frame.function as usize];
        let instrs = &function.instrs[..function.instrs.len().min(self.meets as usize)];
        let lane = lanes.trailing_zeros() as usize;
        let before = *left;
        let mut rest = before;
        // Counts the lanes for which a guard did not hold.
        let mut idle = 0;
        let mut fault = None;
        while rest > 0 {
            let Some(instr) = instrs.get(pc as usize) else {
                break;
            };
            let mut active = lanes;
            if let Some(guard) = instr.guard {
                active &= frame.pred(guard);
                if active == 0 {
                    idle += u64::from(self.count);
                    rest -= 1;
                    pc += 1;
                    continue;
                }
            }
            if ONE {
                // The same value, which the loop does not change.
                active = lanes;
            }
            // SAFETY: the operation is one of the frame's function.
            if !unsafe { compute_common::<ONE>(&instr.op, frame, active) } {
                let result = match &instr.op {
                    Op::Branch { to } if active == lanes && !self.may_meet_after_jumps => {
                        rest -= 1;
                        pc = *to;
                        continue;
                    }
                    Op::Load(op) if op.semantics == Semantics::Weak => {
                        if ONE && load_lane(op, frame, lane, &spaces, polls_mapped_memory) {
                            rest -= 1;
                            pc += 1;
                            continue;
                        }
                        load_lanes(op, frame, active, &spaces, polls_mapped_memory)
                    }
                    Op::Store(op) if op.semantics == Semantics::Weak && !self.records_stores => {
                        let is_shared = op.at.space != StateSpace::Frame;
                        if ONE && let Some(changed) = store_lane(op, frame, lane, &spaces) {
                            *progress |= changed && is_shared;
                            rest -= 1;
                            pc += 1;
                            continue;
                        }
                        let (changed, result) = store_lanes(op, frame, active, &spaces);
                        *progress |= changed && is_shared;
                        result
                    }
                    // SAFETY: as above.
                    op if unsafe { compute_rare::<ONE>(op, frame, active, ids) } => Ok(()),
                    _ => break,
                };
                if let Err(faulted) = result {
                    idle += u64::from((lanes & !active).count_ones());
                    rest -= 1;
                    fault = Some(faulted);
                    break;
                }
            }
            if !ONE && active != lanes {
                idle += u64::from((lanes & !active).count_ones());
            }
            rest -= 1;
            pc += 1;
        }
        *left = rest;
        Advance {
            pc,
            executed: u64::from(before - rest) * u64::from(self.count) - idle,
            fault,
        }
    }
}
