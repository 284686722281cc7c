//! The order in which the groups of a warp run.
//!
//! From `sm_70` on lanes are independent: divergent lanes are groups that are scheduled in turn,
//! and groups at the same instruction of the same call merge. At reconvergence points they wait
//! for each other (see [`converge`](super::converge)).
//! Before, divergent lanes reconverge at the post-dominator, and until then only one group runs:
//! it must not wait for the others.

use std::time::Instant;

use super::group::{Group, State};
use super::warp::Warp;
use crate::alu::Mask;
use crate::code::op::{FUNCTION_END, Pc};
use crate::spec::Model;

impl Warp {
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
        let chosen = match self.round_robin % (2 * count) {
            odd if odd % 2 == 1 => ready().nth(odd / 2).unwrap_or(first),
            _ => first,
        };
        Some((chosen, chosen == first))
    }

    /// Ends a turn: another group may run next.
    pub(super) fn advance_round_robin(&mut self) {
        self.round_robin = self.round_robin.wrapping_add(1);
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

    /// The next instruction at which the group must check for others.
    pub(super) fn next_meeting(&self, at: usize) -> Pc {
        let me = &self.groups[at];
        match self.model {
            Model::LockStep if me.is_base => FUNCTION_END,
            Model::LockStep => me.meets,
            Model::Independent if !self.may_meet_after_jumps() => FUNCTION_END,
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

    /// Whether a jump changes the next instruction at which the group must check for others.
    pub(super) fn may_meet_after_jumps(&self) -> bool {
        match self.model {
            Model::LockStep => false,
            Model::Independent => self.groups.len() > 1 || self.is_diverged(),
        }
    }

    /// Whether all lanes are one group, which can run.
    pub(super) fn has_one_ready_group(&self) -> bool {
        let is_alone = self.groups.len() == 1 && !self.is_diverged();
        is_alone && self.groups[0].state == State::Ready
    }

    /// Some lanes of the group jump to `to`, the others to `rest_to`.
    pub(super) fn diverge(&mut self, at: usize, taken: Mask, to: Pc, rest_to: Pc, meets: Pc) {
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
                self.groups[at].polling = group.polling.of(rest);
                self.groups.push(Group {
                    lanes: taken,
                    pc: to,
                    polling: group.polling.of(taken),
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
}
