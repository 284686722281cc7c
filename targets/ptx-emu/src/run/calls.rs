//! Calls, returns and exits of the lanes of a warp.

use super::block_state::BlockState;
use super::group::{Group, State};
use super::private_memory::LOCAL_BYTES;
use super::warp::Warp;
use crate::alu::{Mask, lanes_of};
use crate::code::op::{Call, FUNCTION_END, Slot};
use crate::error::FaultKind;
use crate::module::Module;
use crate::spec::Model;

impl Warp {
    /// Lanes of the group call a function. In lock-step the others continue.
    ///
    /// # Errors
    /// Local memory is exhausted.
    pub(super) fn call(
        &mut self,
        at: usize,
        lanes: Mask,
        module: &Module,
        number: u32,
        call: &Call,
    ) -> Result<(), FaultKind> {
        let group = self.groups[at];
        let caller = self.frames.get(group.frame);
        let function = &module.functions[number as usize];
        let from = caller.base;
        let base = from + module.functions[caller.function as usize].frame;
        if base
            .checked_add(function.frame)
            .is_none_or(|end| end > LOCAL_BYTES)
        {
            let limit = LOCAL_BYTES;
            return Err(FaultKind::StackOverflow { limit });
        }
        let back = group.pc + 1;
        let frame = self
            .frames
            .enter(number, function, Some((group.frame, back)), base, lanes);
        if let Some(costs) = &mut self.costs
            && self.frames.counts(number)
        {
            costs.enter_call(lanes);
        }
        self.copy(lanes, (from, &call.arguments), (base, &function.params));
        let inner = Group {
            lanes,
            pc: 0,
            frame,
            state: State::Ready,
            meets: FUNCTION_END,
            is_base: true,
            polling: group.polling,
        };
        match self.model {
            Model::Independent if lanes == group.lanes => self.groups[at] = inner,
            Model::Independent => {
                // The others still have to call another function here.
                self.groups[at].lanes = group.lanes & !lanes;
                self.groups.push(inner);
            }
            Model::LockStep => {
                self.groups[at].pc = back;
                self.groups.push(inner);
            }
        }
        Ok(())
    }

    /// Copies slots of one frame to another.
    fn copy(&mut self, lanes: Mask, from: (u32, &[Slot]), to: (u32, &[Slot])) {
        for lane in lanes_of(lanes) {
            let start = lane * LOCAL_BYTES as usize;
            for (a, b) in from.1.iter().zip(to.1) {
                self.local.copy_within(
                    start + (from.0 + a.offset) as usize,
                    start + (to.0 + b.offset) as usize,
                    a.bytes.min(b.bytes) as usize,
                );
            }
        }
    }

    /// The whole group returns.
    pub(super) fn ret(&mut self, at: usize, module: &Module, block: &mut BlockState) {
        let group = self.groups[at];
        if self.model == Model::LockStep && !group.is_base {
            // It waits for the others of the call.
            self.groups.pop();
            return;
        }
        let frame = self.frames.get(group.frame);
        let Some((caller, back)) = frame.caller else {
            self.exit(group.lanes, block);
            return;
        };
        let base = frame.base;
        let function = &module.functions[frame.function as usize];
        let outer = self.frames.get(caller);
        let outer_base = outer.base;
        let instr = &module.functions[outer.function as usize].instrs[back as usize - 1];
        if let crate::code::op::Op::Call(call) = &instr.op {
            self.copy(
                group.lanes,
                (base, &function.results),
                (outer_base, &call.results),
            );
        }
        if self.frames.leave(group.frame, group.lanes)
            && let Some(costs) = &mut self.costs
        {
            costs.end_frame(group.frame);
        }
        match self.model {
            Model::LockStep => drop(self.groups.pop()),
            Model::Independent => {
                self.groups[at].frame = caller;
                self.groups[at].pc = back;
            }
        }
    }

    /// Lanes end.
    pub(super) fn exit(&mut self, lanes: Mask, block: &mut BlockState) {
        self.exited |= lanes;
        block.progress = true;
        block.leave(self.number, lanes);
        for group in &mut self.groups {
            group.lanes &= !lanes;
        }
        match self.model {
            Model::Independent => {
                self.groups.retain(|group| group.lanes != 0);
                self.reconverge_without_ended();
            }
            Model::LockStep => {
                while self.groups.last().is_some_and(|group| group.lanes == 0) {
                    self.groups.pop();
                }
            }
        }
    }
}
