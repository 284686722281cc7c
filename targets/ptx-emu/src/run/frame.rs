//! Active calls: one set of registers of a warp per call.

use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::Function;
use crate::code::op::{Pc, PredSrc, Reg, Src};

/// A call of a function by some lanes.
#[derive(Debug)]
pub(super) struct Frame {
    /// The function's number in the module.
    pub(super) function: u32,
    pub(super) regs: Vec<Lanes>,
    pub(super) preds: Vec<Mask>,
    /// The carry flag.
    pub(super) carry: Mask,
    /// The caller, and its return address; `None` for the kernel.
    pub(super) caller: Option<(FrameId, Pc)>,
    /// The begin of its local memory.
    pub(super) base: u32,
    /// Lanes that have not returned.
    pub(super) live: Mask,
    pub(super) depth: u32,
    /// The number of the counted call that it is part of; 0 for none.
    pub(super) call: u32,
}

pub(super) type FrameId = usize;

impl Frame {
    /// The value of an operand.
    pub(super) fn src<'a>(&'a self, function: &'a Function, src: Src) -> &'a Lanes {
        match src.0.checked_sub(Src::CONSTANTS) {
            Some(constant) => &function.constants[constant as usize],
            None => &self.regs[src.0 as usize],
        }
    }

    /// Writes the lanes of `mask`.
    pub(super) fn set(&mut self, d: Reg, mask: Mask, values: &Lanes) {
        let to = &mut self.regs[d as usize];
        if mask == Mask::MAX {
            *to = *values;
            return;
        }
        for lane in lanes_of(mask) {
            to[lane] = values[lane];
        }
    }

    pub(super) fn pred(&self, src: PredSrc) -> Mask {
        match src {
            PredSrc::Is(pred) => self.preds[pred as usize],
            PredSrc::Not(pred) => !self.preds[pred as usize],
            PredSrc::Const(value) => Mask::from(value).wrapping_neg(),
        }
    }

    pub(super) fn set_pred(&mut self, d: u32, mask: Mask, values: Mask) {
        let to = &mut self.preds[d as usize];
        *to = (*to & !mask) | (values & mask);
    }
}

/// The frames of a warp.
#[derive(Debug, Default)]
pub(super) struct Frames {
    all: Vec<Frame>,
    free: Vec<FrameId>,
    /// The function whose calls are counted, and their number so far.
    counted: Option<u32>,
    calls: u32,
}

impl Frames {
    /// No frames. The calls of function `counted` are numbered.
    pub(super) fn new(counted: Option<u32>) -> Self {
        Self {
            counted,
            ..Self::default()
        }
    }

    pub(super) fn get(&self, id: FrameId) -> &Frame {
        &self.all[id]
    }

    pub(super) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.all[id]
    }

    /// Begins a call by `live`.
    pub(super) fn enter(
        &mut self,
        number: u32,
        function: &Function,
        caller: Option<(FrameId, Pc)>,
        base: u32,
        live: Mask,
    ) -> FrameId {
        let depth = caller.map_or(0, |(caller, _)| self.all[caller].depth + 1);
        let call = if self.counted == Some(number) {
            self.calls = self.calls.wrapping_add(1).max(1);
            self.calls
        } else {
            caller.map_or(0, |(caller, _)| self.all[caller].call)
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.all.push(Frame {
                function: 0,
                regs: Vec::new(),
                preds: Vec::new(),
                carry: 0,
                caller: None,
                base: 0,
                live: 0,
                depth: 0,
                call: 0,
            });
            self.all.len() - 1
        });
        let frame = &mut self.all[id];
        frame.function = number;
        frame.regs.clear();
        frame.regs.resize(function.regs as usize, [0; LANES]);
        frame.preds.clear();
        frame.preds.resize(function.preds as usize, 0);
        frame.carry = 0;
        frame.caller = caller;
        frame.base = base;
        frame.live = live;
        frame.depth = depth;
        frame.call = call;
        id
    }

    /// Whether a call of this function is counted.
    pub(super) fn counts(&self, number: u32) -> bool {
        self.counted == Some(number)
    }

    /// Lanes leave a call, which ends with the last one. Returns whether it has ended.
    pub(super) fn leave(&mut self, id: FrameId, lanes: Mask) -> bool {
        let frame = &mut self.all[id];
        frame.live &= !lanes;
        let has_ended = frame.live == 0;
        if has_ended {
            self.free.push(id);
        }
        has_ended
    }
}
