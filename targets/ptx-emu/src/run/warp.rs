//! A warp: 32 lanes in groups that run together, and their positions.
//!
//! From `sm_70` on lanes are independent: divergent lanes are groups that are scheduled in turn,
//! and groups at the same instruction of the same call merge. At reconvergence points they wait
//! for each other (see `converge`).
//! Before, divergent lanes reconverge at the post-dominator, and until then only one group runs:
//! it must not wait for the others.

use std::time::Instant;

use super::common::Common;
use super::converge::{CycleDetector, Polling, Reconvergence, Rounds};
use super::frame::{FrameId, Frames};
use super::space::{LOCAL_BYTES, Private};
use crate::alu::{LANES, Mask, lanes_of};
use crate::code::Function;
use crate::code::op::{Call, FUNCTION_END, Pc, Slot};
use crate::error::FaultKind;
use crate::module::Module;
use crate::spec::Model;

/// The state of a group of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Ready,
    Sleeping {
        until: Instant,
    },
    /// At a barrier of the block.
    AtBarrier {
        number: usize,
        phase: u64,
    },
    /// Until all members of a collective instruction have arrived.
    Joining {
        members: Mask,
    },
    /// Until the others of a branch have arrived.
    Reconverging {
        /// Abandoned waits of the warp at the begin of this one.
        since: u64,
        /// The work of the warp at that time.
        work: u64,
    },
}

/// Lanes that run together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) lanes: Mask,
    pub(super) pc: Pc,
    pub(super) frame: FrameId,
    pub(super) state: State,
    /// In lock-step: the reconvergence point with the lanes below on the stack.
    meets: Pc,
    /// In lock-step: whether it is the first of its call.
    is_base: bool,
    pub(super) asking: Polling,
}

#[derive(Debug)]
pub(super) struct Warp {
    pub(super) number: u32,
    /// Indices of the threads in the block.
    pub(super) threads: [[u32; 3]; LANES],
    pub(super) exists: Mask,
    pub(super) exited: Mask,
    /// In lock-step a stack, of which only the top runs.
    pub(super) groups: Vec<Group>,
    pub(super) frames: Frames,
    pub(super) local: Private,
    /// The turn among groups.
    turn: usize,
    model: Model,
    /// Reconvergence points of divergent groups.
    pub(super) reconvergences: Vec<Reconvergence>,
    /// The last values of its groups' polls, while lanes have to reconverge.
    pub(super) found: Vec<(u64, u64)>,
    pub(super) cycles: [CycleDetector; LANES],
    pub(super) rounds: [Rounds; LANES],
    /// The number of abandoned waits.
    pub(super) given_up: u64,
    /// Instructions of the warp, some of which count as many.
    pub(super) work: u64,
    /// How often a limit ended a wait, while lanes have to reconverge.
    pub(super) halvings: u32,
    /// A traced lane.
    pub(super) traced: Option<usize>,
}

impl Warp {
    pub(super) fn new(
        number: u32,
        threads: [[u32; 3]; LANES],
        exists: Mask,
        kernel: (u32, &Function),
        model: Model,
        local: Private,
    ) -> Self {
        let mut frames = Frames::default();
        let frame = frames.enter(kernel.0, kernel.1, None, 0, exists);
        let group = Group {
            lanes: exists,
            pc: 0,
            frame,
            state: State::Ready,
            meets: FUNCTION_END,
            is_base: true,
            asking: Polling::default(),
        };
        Self {
            number,
            threads,
            exists,
            exited: 0,
            groups: vec![group],
            frames,
            local,
            turn: 0,
            model,
            reconvergences: Vec::new(),
            found: Vec::new(),
            cycles: [CycleDetector::default(); LANES],
            rounds: [Rounds::default(); LANES],
            given_up: 0,
            work: 0,
            halvings: 0,
            traced: None,
        }
    }

    pub(super) fn live(&self) -> Mask {
        self.exists & !self.exited
    }

    /// The lanes that wait at a barrier, in its phase.
    pub(super) fn at(&self, number: usize, phase: u64) -> Mask {
        let waits = |group: &&Group| group.state == State::AtBarrier { number, phase };
        let groups = self.groups.iter().filter(waits);
        groups.fold(0, |mask, group| mask | group.lanes)
    }

    pub(super) fn model(&self) -> Model {
        self.model
    }

    /// The first time at which a sleeping group wakes up.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let candidates = &self.groups[self.first_candidate()..];
        let times = candidates.iter().filter_map(|group| match group.state {
            State::Sleeping { until } => Some(until),
            _ => None,
        });
        times.min()
    }

    /// The first group that may run: of all of them, or the top of the stack.
    fn first_candidate(&self) -> usize {
        match self.model {
            Model::Independent => 0,
            Model::LockStep => self.groups.len().saturating_sub(1),
        }
    }

    fn awaken(&mut self) {
        let mut now = None;
        let first = self.first_candidate();
        for group in &mut self.groups[first..] {
            if let State::Sleeping { until } = group.state
                && *now.get_or_insert_with(Instant::now) >= until
            {
                group.state = State::Ready;
            }
        }
    }

    /// The group to run next: of the ready groups with the deepest calls, the one at the lowest
    /// instruction, so that lanes merge again. Every other turn another group runs, so that none
    /// starves.
    /// Also returns whether it is the one at the lowest instruction.
    pub(super) fn choose(&mut self) -> Option<(usize, bool)> {
        self.awaken();
        if self.model == Model::LockStep {
            let top = self.groups.len().checked_sub(1)?;
            return (self.groups[top].state == State::Ready).then_some((top, true));
        }
        self.give_up_if_stuck();
        let is_ready = |at: &usize| self.groups[*at].state == State::Ready;
        let ready = || (0..self.groups.len()).filter(is_ready);
        let (mut first, mut order, mut count) = (None, (u32::MAX, Pc::MAX), 0);
        for at in ready() {
            let group = &self.groups[at];
            let its = (u32::MAX - self.frames.get(group.frame).depth, group.pc);
            if first.is_none() || its < order {
                (first, order) = (Some(at), its);
            }
            count += 1;
        }
        let first = first?;
        let chosen = match self.turn % (2 * count) {
            odd if odd % 2 == 1 => ready().nth(odd / 2).unwrap_or(first),
            _ => first,
        };
        Some((chosen, chosen == first))
    }

    /// Ends a turn.
    pub(super) fn end_turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }

    /// Whether the group must stop at its pc: it has merged with others, or waits for others.
    pub(super) fn try_reconverge(&mut self, at: &mut usize, is_first: bool) -> bool {
        match self.model {
            Model::LockStep => {
                let group = &self.groups[*at];
                if !group.is_base && group.pc == group.meets {
                    self.groups.pop();
                    return true;
                }
                false
            }
            Model::Independent => {
                let mut other = 0;
                while other < self.groups.len() {
                    let (me, it) = (self.groups[*at], self.groups[other]);
                    if other == *at || it.state != State::Ready || it.frame != me.frame {
                        other += 1;
                        continue;
                    }
                    if it.pc == me.pc {
                        self.merge(at, other);
                        continue;
                    }
                    if is_first && it.pc < me.pc {
                        return true;
                    }
                    other += 1;
                }
                self.waits_at_reconvergence(at)
            }
        }
    }

    /// Merges another group into this one.
    pub(super) fn merge(&mut self, at: &mut usize, other: usize) {
        let it = self.groups.swap_remove(other);
        if *at == self.groups.len() {
            *at = other;
        }
        let group = &mut self.groups[*at];
        group.lanes |= it.lanes;
        group.asking.merge(&it.asking);
    }

    /// The next instruction at which the group must check for others.
    pub(super) fn next_meeting(&self, at: usize) -> Pc {
        let me = &self.groups[at];
        match self.model {
            Model::LockStep if me.is_base => FUNCTION_END,
            Model::LockStep => me.meets,
            Model::Independent if self.groups.len() == 1 && !self.is_diverged() => FUNCTION_END,
            Model::Independent => {
                let mut next = self.next_reconvergence(me);
                for it in &self.groups {
                    let is_beyond = it.frame == me.frame && it.pc > me.pc && it.pc < next;
                    if is_beyond && it.state == State::Ready {
                        next = it.pc;
                    }
                }
                next
            }
        }
    }

    /// Some lanes of the group jump to `to`, the others to `rest_to`.
    pub(super) fn part(&mut self, at: usize, taken: Mask, to: Pc, rest_to: Pc, meets: Pc) {
        let group = self.groups[at];
        let rest = group.lanes & !taken;
        match self.model {
            Model::Independent => {
                if meets != FUNCTION_END {
                    self.reconverge(group.frame, meets, group.lanes);
                } else if let Some((caller, back)) = self.frames.get(group.frame).caller {
                    self.reconverge(caller, back, group.lanes);
                }
                self.groups[at].lanes = rest;
                self.groups[at].pc = rest_to;
                self.groups[at].asking = group.asking.of(rest);
                self.groups.push(Group {
                    lanes: taken,
                    pc: to,
                    asking: group.asking.of(taken),
                    ..group
                });
            }
            Model::LockStep => {
                // The group itself waits at the reconvergence point. If it must stop there too,
                // the groups below it on the stack wait.
                if !group.is_base && group.meets == meets {
                    self.groups.pop();
                } else {
                    self.groups[at].pc = meets;
                }
                for (lanes, pc) in [(rest, rest_to), (taken, to)] {
                    if pc != meets {
                        self.groups.push(Group {
                            lanes,
                            pc,
                            meets,
                            is_base: false,
                            ..group
                        });
                    }
                }
            }
        }
    }

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
        self.copy(lanes, (from, &call.arguments), (base, &function.params));
        let inner = Group {
            lanes,
            pc: 0,
            frame,
            state: State::Ready,
            meets: FUNCTION_END,
            is_base: true,
            asking: group.asking,
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
    pub(super) fn ret(&mut self, at: usize, module: &Module, common: &mut Common) {
        let group = self.groups[at];
        if self.model == Model::LockStep && !group.is_base {
            // It waits for the others of the call.
            self.groups.pop();
            return;
        }
        let frame = self.frames.get(group.frame);
        let Some((caller, back)) = frame.caller else {
            self.exit(group.lanes, common);
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
        self.frames.leave(group.frame, group.lanes);
        match self.model {
            Model::LockStep => drop(self.groups.pop()),
            Model::Independent => {
                self.groups[at].frame = caller;
                self.groups[at].pc = back;
            }
        }
    }

    /// Lanes end.
    pub(super) fn exit(&mut self, lanes: Mask, common: &mut Common) {
        self.exited |= lanes;
        common.progress = true;
        common.leave(self.number, lanes);
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
