//! Where lanes that diverged meet again from `sm_70` on, and when one stops waiting for another.
//!
//! Compilers for these devices have the lanes of a branch meet at its post-dominator (BSSY and
//! BSYNC in NVIDIA's machine code), and device code relies on it: GCC ends a `simd` region with
//! stores to the stack pointers that all lanes of a warp share, which are wrong as long as one
//! lane is still inside a function. So a group of lanes that comes to such a point waits there
//! for the others of its branch.
//!
//! But every lane must get on in the end: one that has a lock, or has yet to set a flag, must not
//! wait for lanes that wait for it. Hardware lets lanes that yield be left behind; here a wait is
//! given up as soon as no group of the warp gets on. A group gets on that is ready to run, unless
//! it goes in circles, of which there are two signs:
//!
//! * The registers that decide what each of its lanes does next
//!   ([`Deciding`](crate::code::Deciding)) have the values that they had before, at the same
//!   instruction, and it has changed no memory since. Whatever it does next, it will do for ever,
//!   until somebody else changes what it reads. Such a group is never one that computes, however
//!   long; one that counts how often it asks is one.
//! * Its lanes have asked [`MANY`] times for memory that others change, with volatile loads,
//!   ordered ones, or atomic operations without effect, and found the same as the last time. So
//!   do those that wait up to a deadline, or count in memory how often they ask. A loop that
//!   computes may ask, too: its length alone tells the two apart.
//!
//! Both are remembered as long as lanes have yet to meet: lanes that wait for a lock wait for it
//! whichever of them has it. But a group that gets on and changes memory, or begins to wait, may
//! have given the others what they wait for. They have to ask once more before they are taken to
//! go in circles again, and those that sleep have to wake up.
//!
//! Groups that sleep, or wait at a barrier or for lanes that an instruction names, do not get on
//! either: the first say themselves that they wait, the others may wait for those that wait here.
//! One wait is given up at a time, the innermost first, for that disturbs the fewest; but none is
//! passed over more often than a warp has lanes.

use super::frame::FrameId;
use super::warp::{Group, State, Warp};
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::Function;
use crate::code::op::{NOWHERE, Pc};

/// How often a group asks in vain before it is taken to wait for somebody: more often than loops
/// run whose bound is volatile, and few enough for a fraction of a second.
const MANY: u32 = 1 << 14;

/// How often it asks in vain before its registers are looked at where it asks.
const SEVERAL: u32 = 64;

/// Places of which it is known what was found there last. Nobody waits for more at once.
const PLACES: usize = 64;

/// A point where lanes of a branch meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reconvergence {
    frame: FrameId,
    pc: Pc,
    lanes: Mask,
}

impl Reconvergence {
    fn is_at(&self, group: &Group) -> bool {
        self.frame == group.frame && self.pc == group.pc
    }
}

/// What is known of a lane while others of its warp wait. Source of how circles are found:
/// Brent, "An Improved Monte Carlo Factorization Algorithm" (1980).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circle {
    /// A state that the lane was in.
    saved: u64,
    /// States since, and after how many the next is saved.
    steps: u32,
    limit: u32,
    is_found: bool,
}

impl Circle {
    fn step(&mut self, state: u64) {
        if self.limit > 0 && self.saved == state {
            (self.is_found, self.steps) = (true, 0);
        } else if self.steps >= self.limit {
            *self = Self {
                saved: state,
                steps: 0,
                limit: self.limit.max(1).saturating_mul(2),
                // It has left its circle, if it was in one.
                is_found: false,
            };
        } else {
            self.steps += 1;
        }
    }
}

/// What is known of a group while others of its warp wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asking {
    /// How often it asked in vain for memory that others change.
    polls: u32,
    /// Lanes whose last atomic operation had an effect: they may have what they waited for.
    acted: Mask,
    /// Whether something happened that it may wait for, since it began to sleep.
    is_due: bool,
}

impl Asking {
    /// What is known of `lanes`, which part from the others.
    pub(super) fn of(&self, lanes: Mask) -> Self {
        if self.acted & lanes != 0 {
            return Self::default();
        }
        Self { acted: 0, ..*self }
    }

    /// Something happened that may be what the group waits for.
    fn recheck(&mut self) {
        self.polls = self.polls.min(MANY - 1);
        self.is_due = true;
    }

    /// It sleeps, whatever happened before.
    pub(super) fn sleep(&mut self) {
        self.is_due = false;
    }

    /// Lanes of another group join those of this one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.polls = self.polls.max(other.polls);
        self.acted |= other.acted;
    }
}

impl Warp {
    /// Lanes of a branch in `group` are to meet at an instruction of a frame.
    pub(super) fn reconverge(&mut self, frame: FrameId, pc: Pc, lanes: Mask) {
        let covers =
            |it: &&Reconvergence| it.frame == frame && it.pc == pc && lanes & !it.lanes == 0;
        if self.reconvergences.is_empty() {
            self.forget_circles();
        }
        // In a loop that lanes leave one after the other there is one for all.
        if self.reconvergences.iter().find(covers).is_none() {
            self.reconvergences.push(Reconvergence { frame, pc, lanes });
        }
    }

    /// The next point further down in its call where a group is to meet others.
    #[inline]
    pub(super) fn next_reconvergence(&self, group: &Group) -> Pc {
        let mut next = NOWHERE;
        for it in &self.reconvergences {
            let is_its = it.frame == group.frame && it.lanes & group.lanes != 0;
            if is_its && it.pc > group.pc && it.pc < next {
                next = it.pc;
            }
        }
        next
    }

    /// The lanes that those of `group`, where it is, are to meet there.
    fn expected(&self, group: &Group) -> Mask {
        let its = |it: &&Reconvergence| it.is_at(group) && it.lanes & group.lanes != 0;
        let lanes = self.reconvergences.iter().filter(its);
        lanes.fold(0, |all, it| all | it.lanes) & self.live()
    }

    /// The group has come to an instruction; whether it waits there for others of a branch.
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
        self.groups[*at].state = State::Reconverging {
            since: self.given_up,
        };
        true
    }

    /// Whether lanes have yet to meet.
    pub(super) fn is_diverged(&self) -> bool {
        !self.reconvergences.is_empty()
    }

    /// Whether a group waits for others of its branch.
    pub(super) fn has_waiting(&self) -> bool {
        !self.reconvergences.is_empty() && self.waiting().next().is_some()
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, u64)> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(at, group)| match group.state {
            State::Reconverging { since } => Some((at, since)),
            _ => None,
        })
    }

    fn forget_circles(&mut self) {
        self.found.clear();
        self.circles = [Circle::default(); LANES];
        for group in &mut self.groups {
            group.asking = Asking::default();
        }
    }

    /// Lanes have ended, for which nobody is to wait.
    pub(super) fn reconverge_without_ended(&mut self) {
        if self.reconvergences.is_empty() {
            return;
        }
        let live = self.live();
        self.reconvergences
            .retain(|it| (it.lanes & live).count_ones() > 1);
        for group in &mut self.groups {
            if let State::Reconverging { .. } = group.state {
                // It looks again.
                group.state = State::Ready;
            }
        }
    }

    fn is_in_circles(&self, group: &Group) -> bool {
        let asking = &group.asking;
        let is_found = || lanes_of(group.lanes).all(|lane| self.circles[lane].is_found);
        asking.acted == 0 && (asking.polls >= MANY || is_found())
    }

    /// Lanes of a group do what they have not done before.
    fn leave_circles(&mut self, at: usize) {
        lanes_of(self.groups[at].lanes).for_each(|lane| self.circles[lane] = Circle::default());
    }

    pub(super) fn no_group_gets_on(&self) -> bool {
        let gets_on = |group: &Group| match group.state {
            State::Ready => !self.is_in_circles(group),
            State::Sleeping { .. } => group.asking.is_due,
            _ => false,
        };
        !self.groups.iter().any(gets_on)
    }

    /// If no group gets on, has one that waits for others of its branch go on without them.
    pub(super) fn give_up_if_stuck(&mut self) {
        if self.reconvergences.is_empty() || !self.no_group_gets_on() {
            return;
        }
        let inner = |&(at, _): &(usize, u64)| {
            let group = &self.groups[at];
            (u32::MAX - self.frames.get(group.frame).depth, group.pc)
        };
        let oldest = self.waiting().min_by_key(|&(_, since)| since);
        let is_old = |&(_, since): &(usize, u64)| self.given_up - since >= LANES as u64;
        let Some((at, _)) = oldest.filter(is_old).or(self.waiting().min_by_key(inner)) else {
            return;
        };
        self.given_up += 1;
        // The others still go in circles, until they find something new.
        self.leave_circles(at);
        self.groups[at].asking = Asking::default();
        self.groups[at].state = State::Ready;
        let group = self.groups[at];
        for it in &mut self.reconvergences {
            if it.is_at(&group) {
                it.lanes &= !group.lanes;
            }
        }
        let live = self.live();
        self.reconvergences
            .retain(|it| (it.lanes & live).count_ones() > 1);
    }

    /// A group has asked for memory that others change, and found something.
    pub(super) fn has_asked(
        &mut self,
        at: usize,
        (place, value): (u64, u64),
        functions: &[Function],
    ) {
        let known = self.found.iter_mut().find(|known| known.0 == place);
        let last = known.map(|known| std::mem::replace(&mut known.1, value));
        if last.is_none() {
            if self.found.len() == PLACES {
                self.found.clear();
            }
            self.found.push((place, value));
        }
        let asking = &mut self.groups[at].asking;
        if asking.acted != 0 || last.is_some_and(|last| last != value) {
            *asking = Asking::default();
            self.leave_circles(at);
            return;
        }
        asking.polls = asking.polls.saturating_add(last.is_some().into());
        // The host may be about to answer: those that go on alone too early go on apart.
        if last.is_none() || asking.polls >= SEVERAL {
            self.look_for_circles(at, functions);
        }
    }

    /// Compares the lanes of a group with what they were before, while others wait: where they ask,
    /// and at the end of a turn.
    pub(super) fn look_for_circles(&mut self, at: usize, functions: &[Function]) {
        if self.has_waiting() {
            let states = self.states_of(at, functions);
            for lane in lanes_of(self.groups[at].lanes) {
                self.circles[lane].step(states[lane]);
            }
        }
    }

    /// A group has changed memory, `acted` of it by atomic operations. Those get on: they may have
    /// what they waited for. Plain stores may be those of a loop that counts.
    pub(super) fn changed_memory(&mut self, at: usize, acted: Mask, is_its_own: bool) {
        self.groups[at].asking.acted |= acted;
        self.leave_circles(at);
        // Groups that go in circles must not wake each other for ever.
        if !is_its_own && !self.is_in_circles(&self.groups[at]) {
            self.recheck_others(at);
        }
    }

    fn recheck_others(&mut self, at: usize) {
        let own = self.groups[at].lanes;
        lanes_of(!own).for_each(|lane| self.circles[lane].is_found = false);
        for (other, group) in self.groups.iter_mut().enumerate() {
            if other != at {
                group.asking.recheck();
            }
        }
    }

    /// All that decides what each lane of a group does next, but for memory.
    fn states_of(&self, at: usize, functions: &[Function]) -> Lanes {
        // Quick, and equal states alone must be equal.
        let mut hashes = [0u64; LANES];
        let add = |hash: &mut u64, value: u64| {
            *hash = (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        };
        let group = &self.groups[at];
        let mut next = Some((group.frame, group.pc));
        while let Some((frame, pc)) = next {
            let frame = self.frames.get(frame);
            let deciding = &functions[frame.function as usize].deciding;
            for lane in lanes_of(group.lanes) {
                let hash = &mut hashes[lane];
                add(hash, u64::from(pc) << 32 | u64::from(frame.function));
                add(
                    hash,
                    u64::from(frame.base) << 1 | u64::from(frame.carry >> lane & 1),
                );
                for &register in &deciding.regs {
                    add(hash, frame.regs[register as usize][lane]);
                }
                for &pred in &deciding.preds {
                    add(hash, (frame.preds[pred as usize] >> lane & 1).into());
                }
            }
            next = frame.caller;
        }
        hashes
    }
}
