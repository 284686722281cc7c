//! Active calls: one set of registers of a warp per call.

use std::mem::MaybeUninit;

use crate::alu::{Bin, Compare, LANES, Lanes, Mask, Row, Tri, Un, lanes_of};
use crate::code::Function;
use crate::code::op::{Pc, PredSrc, Reg, Src};

/// A call of a function by some lanes.
///
/// Where a function has a parameter `ONE`, it is for one lane if that is true.
#[derive(Debug)]
pub(super) struct Frame {
    /// The function's number in the module.
    pub(super) function: u32,
    /// The function's constants, the last one first, and its registers.
    rows: Vec<Lanes>,
    constants: u32,
    /// Lanes that have the constants.
    has_constants: Mask,
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

/// The first lane of a mask.
#[inline]
fn first(mask: Mask) -> usize {
    mask.trailing_zeros() as usize % LANES
}

/// The row of an operand: constants have negative ones.
#[inline]
fn row(src: Src) -> Row {
    src.0.cast_signed()
}

impl Frame {
    /// The index of an operand's row. Constants count backwards from the largest number, so that
    /// they are the rows before the first register.
    #[inline]
    fn index(&self, src: Src) -> usize {
        src.0.wrapping_add(self.constants) as usize
    }

    /// The value of an operand.
    #[inline]
    pub(super) fn src(&self, src: Src) -> &Lanes {
        &self.rows[self.index(src)]
    }

    /// The value of a register.
    pub(super) fn reg(&self, reg: Reg) -> &Lanes {
        self.src(Src(reg))
    }

    /// The values of all registers.
    pub(super) fn regs(&self) -> &[Lanes] {
        &self.rows[self.constants as usize..]
    }

    /// The value of an operand in a lane.
    #[inline]
    pub(super) fn value(&self, src: Src, lane: usize) -> u64 {
        self.src(src)[lane % LANES]
    }

    /// Writes one lane.
    #[inline]
    pub(super) fn set_lane(&mut self, d: Reg, lane: usize, value: u64) {
        let index = self.index(Src(d));
        self.rows[index][lane % LANES] = value;
    }

    /// Writes the lanes of `mask`, which `value` makes from the frame.
    #[inline]
    pub(super) fn set_each<const ONE: bool>(
        &mut self,
        d: Reg,
        mask: Mask,
        value: impl Fn(&Self, usize) -> u64,
    ) {
        if ONE {
            let lane = first(mask);
            let value = value(self, lane);
            return self.set_lane(d, lane, value);
        }
        if mask == Mask::MAX {
            let values = std::array::from_fn(|lane| value(self, lane));
            return self.set(d, mask, &values);
        }
        for lane in lanes_of(mask) {
            let value = value(self, lane);
            self.set_lane(d, lane, value);
        }
    }

    /// Makes `write` compute all lanes of a register from some operands, and keeps those of `mask`.
    ///
    /// Its pointers are valid for [`Lanes`]. Nobody else accesses them, since they are rows of this
    /// frame, which is borrowed. The result may be one of the operands; otherwise they do not
    /// overlap.
    ///
    /// # Safety
    /// `write` writes all lanes of the result.
    #[inline]
    unsafe fn write_all<const N: usize>(
        &mut self,
        d: Reg,
        sources: [Src; N],
        mask: Mask,
        write: impl FnOnce(*mut Lanes, [*const Lanes; N]),
    ) {
        let (rows, constants) = (self.rows.as_mut_slice(), self.constants);
        let at = |src: Src| {
            let row = src.0.wrapping_add(constants) as usize;
            assert!(row < rows.len(), "a row of the frame");
            row
        };
        let (d_row, sources) = (at(Src(d)), sources.map(at));
        let base = rows.as_mut_ptr();
        let sources = sources.map(|row| base.wrapping_add(row).cast_const());
        if mask == Mask::MAX {
            write(base.wrapping_add(d_row), sources);
            return;
        }
        let mut values = MaybeUninit::<Lanes>::uninit();
        write(values.as_mut_ptr(), sources);
        // SAFETY: `write` has written all lanes, as the caller promises.
        self.set(d, mask, unsafe { values.assume_init_ref() });
    }

    /// Calls `f` with a pointer to each lane of `mask` in the first register.
    ///
    /// From there, the rows of the function's operands are valid: `prepare` has made as many as
    /// the function has constants and registers. Nobody else accesses them, since the frame is
    /// borrowed.
    #[inline]
    fn each_lane<const ONE: bool>(&mut self, mask: Mask, mut f: impl FnMut(*mut u64)) {
        let base = self.rows.as_mut_ptr().wrapping_add(self.constants as usize);
        let lane = |lane| base.cast::<u64>().wrapping_add(lane);
        if ONE {
            return f(lane(first(mask)));
        }
        lanes_of(mask).map(lane).for_each(f);
    }

    /// Applies a function of one operand to the lanes of `mask`.
    ///
    /// # Safety
    /// The result and the operands are those of an instruction of the frame's function: it has
    /// them ([`Function`]'s `check_operands`).
    #[inline]
    pub(super) unsafe fn apply1<const ONE: bool>(
        &mut self,
        f: Un,
        d: Reg,
        [a]: [Src; 1],
        mask: Mask,
    ) {
        if !ONE && let Some(all) = f.all {
            let write = |d, [a]: [*const Lanes; 1]| {
                // SAFETY: the pointers of `write_all` are as the function requires.
                unsafe { all(d, a) };
            };
            // SAFETY: the functions of the ALU write all lanes.
            return unsafe { self.write_all(d, [a], mask, write) };
        }
        let (d, a) = (row(Src(d)), row(a));
        self.each_lane::<ONE>(mask, |lane| {
            // SAFETY: the rows of operands of the function, by the caller's promise, from the
            // pointer of `each_lane`, for which they are valid.
            unsafe { (f.one)(lane, d, a) };
        });
    }

    /// The same with two operands.
    ///
    /// # Safety
    /// As for [`apply1`](Self::apply1).
    #[inline]
    pub(super) unsafe fn apply2<const ONE: bool>(
        &mut self,
        f: Bin,
        d: Reg,
        [a, b]: [Src; 2],
        mask: Mask,
    ) {
        if !ONE && let Some(all) = f.all {
            let write = |d, [a, b]: [*const Lanes; 2]| {
                // SAFETY: the pointers of `write_all` are as the function requires.
                unsafe { all(d, a, b) };
            };
            // SAFETY: the functions of the ALU write all lanes.
            return unsafe { self.write_all(d, [a, b], mask, write) };
        }
        let (d, a, b) = (row(Src(d)), row(a), row(b));
        self.each_lane::<ONE>(mask, |lane| {
            // SAFETY: the rows of operands of the function, by the caller's promise, from the
            // pointer of `each_lane`, for which they are valid.
            unsafe { (f.one)(lane, d, a, b) };
        });
    }

    /// The same with three operands.
    ///
    /// # Safety
    /// As for [`apply1`](Self::apply1).
    #[inline]
    pub(super) unsafe fn apply3<const ONE: bool>(
        &mut self,
        f: Tri,
        d: Reg,
        [a, b, c]: [Src; 3],
        mask: Mask,
    ) {
        if !ONE && let Some(all) = f.all {
            let write = |d, [a, b, c]: [*const Lanes; 3]| {
                // SAFETY: the pointers of `write_all` are as the function requires.
                unsafe { all(d, a, b, c) };
            };
            // SAFETY: the functions of the ALU write all lanes.
            return unsafe { self.write_all(d, [a, b, c], mask, write) };
        }
        let (d, a, b, c) = (row(Src(d)), row(a), row(b), row(c));
        self.each_lane::<ONE>(mask, |lane| {
            // SAFETY: the rows of operands of the function, by the caller's promise, from the
            // pointer of `each_lane`, for which they are valid.
            unsafe { (f.one)(lane, d, a, b, c) };
        });
    }

    /// The lanes of `mask` for which a comparison holds; other bits have no meaning.
    ///
    /// # Safety
    /// As for [`apply1`](Self::apply1).
    #[inline]
    pub(super) unsafe fn compare<const ONE: bool>(
        &mut self,
        f: Compare,
        [a, b]: [Src; 2],
        mask: Mask,
    ) -> Mask {
        if !ONE {
            return (f.all)(self.src(a), self.src(b));
        }
        let mut holds = false;
        self.each_lane::<ONE>(mask, |lane| {
            // SAFETY: the rows of operands of the function, by the caller's promise, from the
            // pointer of `each_lane`, for which they are valid.
            holds = unsafe { (f.one)(lane, row(a), row(b)) };
        });
        Mask::from(holds).wrapping_neg()
    }

    /// Writes the lanes of `mask`.
    pub(super) fn set(&mut self, d: Reg, mask: Mask, values: &Lanes) {
        let index = self.index(Src(d));
        let to = &mut self.rows[index];
        if mask == Mask::MAX {
            *to = *values;
            return;
        }
        for lane in lanes_of(mask) {
            to[lane] = values[lane];
        }
    }

    #[inline]
    pub(super) fn pred(&self, src: PredSrc) -> Mask {
        match src {
            PredSrc::Is(pred) => self.preds[pred as usize],
            PredSrc::Not(pred) => !self.preds[pred as usize],
            PredSrc::Const(value) => Mask::from(value).wrapping_neg(),
        }
    }

    #[inline]
    pub(super) fn set_pred(&mut self, d: u32, mask: Mask, values: Mask) {
        let to = &mut self.preds[d as usize];
        *to = (*to & !mask) | (values & mask);
    }

    /// Prepares the rows of a call of a function by `live`, for these lanes alone.
    fn prepare(&mut self, number: u32, function: &Function, live: Mask) {
        let count = function.constants.len();
        let rows = count + function.regs as usize;
        if self.function != number {
            self.function = number;
            self.constants = count as u32;
            self.has_constants = 0;
        }
        if self.rows.len() != rows {
            self.rows.resize(rows, [0; LANES]);
            self.has_constants = 0;
        }
        let (constants, regs) = self.rows.split_at_mut(count);
        if live & !self.has_constants != 0 {
            for (row, &value) in constants.iter_mut().rev().zip(&function.constants) {
                write_lanes(row, live, value);
            }
            self.has_constants |= live;
        }
        for row in regs {
            write_lanes(row, live, 0);
        }
        self.preds.clear();
        self.preds.resize(function.preds as usize, 0);
    }
}

/// Writes one value to the lanes of `mask`, and perhaps to others.
#[inline]
fn write_lanes(row: &mut Lanes, mask: Mask, value: u64) {
    if mask.is_power_of_two() {
        row[first(mask)] = value;
    } else {
        *row = [value; LANES];
    }
}

/// The frames of a warp.
#[derive(Debug, Default)]
pub(super) struct Frames {
    all: Vec<Frame>,
    /// The frame of the last call that has ended comes last: the next call is often one of the
    /// same function.
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
                function: u32::MAX,
                rows: Vec::new(),
                constants: 0,
                has_constants: 0,
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
        frame.prepare(number, function, live);
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
