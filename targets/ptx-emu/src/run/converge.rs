//! Reconvergence of divergent lanes from `sm_70` on.
//!
//! Compilers for these devices make the lanes of a branch reconverge at its post-dominator (BSSY
//! and BSYNC in NVIDIA's machine code), and device code relies on it: GCC ends a `simd` region with
//! stores to the stack pointers that all lanes of a warp share, which are wrong as long as one
//! lane is still inside a function. So a group of lanes waits at such a point for the others of
//! its branch, until [`progress`](super::progress) abandons the wait.

use super::frame::FrameId;
use super::group::{Group, Reconvergence, State};
use super::spinning::{CycleDetector, Polling, Rounds};
use super::warp::Warp;
use crate::alu::{LANES, Mask, lanes_of};
use crate::code::op::{FUNCTION_END, Pc};

impl Warp {
    /// Adds a reconvergence point for the lanes of a branch in `group`.
    pub(super) fn reconverge(&mut self, frame: FrameId, pc: Pc, lanes: Mask) {
        let covers =
            |it: &&Reconvergence| it.frame == frame && it.pc == pc && lanes & !it.lanes == 0;
        if self.reconvergences.is_empty() {
            self.forget_cycles();
        }
        // A loop that lanes leave one after the other has one point for all.
        if self.reconvergences.iter().find(covers).is_none() {
            self.reconvergences.push(Reconvergence { frame, pc, lanes });
        }
    }

    /// The next reconvergence point of a group, further down in its call.
    #[inline]
    pub(super) fn next_reconvergence(&self, group: &Group) -> Pc {
        let mut next = FUNCTION_END;
        for it in &self.reconvergences {
            let is_its = it.frame == group.frame && it.lanes & group.lanes != 0;
            if is_its && it.pc > group.pc && it.pc < next {
                next = it.pc;
            }
        }
        next
    }

    /// The lanes that must reconverge with `group` at its position.
    fn expected(&self, group: &Group) -> Mask {
        let its = |it: &&Reconvergence| it.is_at(group) && it.lanes & group.lanes != 0;
        let lanes = self.reconvergences.iter().filter(its);
        lanes.fold(0, |all, it| all | it.lanes) & self.live()
    }

    /// The group has reached an instruction. Returns whether it waits there for others of a branch.
    pub(super) fn waits_at_reconvergence(&mut self, at: &mut usize) -> bool {
        if self.reconvergences.is_empty() {
            return false;
        }
        let expected = self.expected(&self.groups[*at]);
        if expected == 0 {
            return false;
        }
        let mut other = 0;
        while other < self.groups.len() {
            let (me, it) = (self.groups[*at], self.groups[other]);
            let is_waiting = matches!(it.state, State::Reconverging { .. });
            let is_here = it.frame == me.frame && it.pc == me.pc;
            if other == *at || !is_waiting || !is_here || it.lanes & expected == 0 {
                other += 1;
                continue;
            }
            self.merge(at, other);
        }
        let me = self.groups[*at];
        let expected = self.expected(&me);
        if expected & !me.lanes == 0 {
            let live = self.live();
            let is_over = |it: &Reconvergence| it.is_at(&me) && it.lanes & live & !me.lanes == 0;
            self.reconvergences.retain(|it| !is_over(it));
            return false;
        }
        self.recheck_others(*at);
        lanes_of(me.lanes).for_each(|lane| self.rounds[lane] = Rounds::default());
        self.groups[*at].state = State::Reconverging {
            since: self.given_up,
            work: self.work,
        };
        true
    }

    fn forget_cycles(&mut self) {
        self.found.clear();
        self.cycles = [CycleDetector::default(); LANES];
        self.rounds = [Rounds::default(); LANES];
        self.halvings = 0;
        for group in &mut self.groups {
            group.polling = Polling::default();
        }
    }

    /// Lanes have ended: no group waits for them any more.
    pub(super) fn reconverge_without_ended(&mut self) {
        if self.reconvergences.is_empty() {
            return;
        }
        let live = self.live();
        self.reconvergences
            .retain(|it| (it.lanes & live).count_ones() > 1);
        for group in &mut self.groups {
            if let State::Reconverging { .. } = group.state {
                // It polls again.
                group.state = State::Ready;
            }
        }
    }
}
